import { CookieJar, MemoryCookieStore, type Cookie } from 'tough-cookie'
import type { DownloaderMiddleware } from 'orbweaver'

/** Cookies kept at most; beyond it the ones that were used least recently go. */
const maxCookies = 10_000
/** Cookies taken from one answer, and bytes of one cookie, as browsers limit them (RFC 6265 §6.1). */
const maxPerAnswer = 50
const maxCookieBytes = 4_096
/** Servers refuse longer headers. */
const maxHeaderBytes = 8_192

/**
 * Keeps the cookies of every answer, redirects included, and sends them back where they belong: one jar a spider, in memory,
 * by the rules of browsers (RFC 6265, public suffixes refused). A Cookie header of the request itself is sent instead.
 */
export const cookies: DownloaderMiddleware = ({ settings }) => {
  if (!settings.cookies.enabled) return (request, next) => next(request)
  const store = new MemoryCookieStore()
  const jar = new CookieJar(store, { rejectPublicSuffixes: true })
  let stored = 0

  const receive = async (header: string, url: string): Promise<void> => {
    for (const cookie of header.split('\n').slice(0, maxPerAnswer)) {
      if (cookie.length <= maxCookieBytes && jar.setCookieSync(cookie, url, { ignoreError: true }) !== undefined) stored++
    }
    if (stored > maxCookies) stored = await sweep(store)
  }

  return async function cookies(request, next) {
    const own = stored === 0 || Object.keys(request.headers).some((name) => name.toLowerCase() === 'cookie')
    const cookie = own ? '' : shortened(jar.getCookieStringSync(request.url))
    const response = await next(cookie === '' ? request : request.with({ headers: { ...request.headers, cookie } }))
    const header = response.headers['set-cookie']
    if (header !== undefined) await receive(header, request.url)
    return response
  }
}

/** Removes what has expired and, from a store still nearly full, what was used least recently. Answers how many are left. */
async function sweep(store: MemoryCookieStore): Promise<number> {
  const all = await store.getAllCookies()
  const now = Date.now()
  const alive = all.filter((cookie) => Number(cookie.TTL(now)) > 0).sort((a, b) => lastUse(b) - lastUse(a))
  const kept = new Set(alive.length > maxCookies * 0.75 ? alive.slice(0, maxCookies / 2) : alive)
  for (const cookie of all) if (!kept.has(cookie)) await store.removeCookie(cookie.domain ?? '', cookie.path ?? '/', cookie.key)
  return kept.size
}

const lastUse = ({ lastAccessed }: Cookie): number => (lastAccessed instanceof Date ? lastAccessed.getTime() : 0)

/** Whole cookies only, the most specific first, as the jar orders them. */
function shortened(header: string): string {
  return header.length <= maxHeaderBytes ? header : header.slice(0, Math.max(0, header.lastIndexOf('; ', maxHeaderBytes)))
}
