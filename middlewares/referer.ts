import type { DownloaderMiddleware } from 'orbweaver'

/** A longer one is cut to its origin (Referrer Policy §8.4). */
const maxLength = 4_096

/**
 * Sends the page that a request was found on, by the browsers' rule strict-origin-when-cross-origin: all of it within one
 * origin, the origin alone to another, nothing from https to http. A Referer of the request itself is sent instead.
 */
export const referer: DownloaderMiddleware = () =>
  async function referer(request, next) {
    if (request.referer === undefined) return next(request)
    if (Object.keys(request.headers).some((name) => name.toLowerCase() === 'referer')) return next(request)
    const value = refererOf(request.referer, request.url)
    return next(value === undefined ? request : request.with({ headers: { ...request.headers, referer: value } }))
  }

function refererOf(page: string, target: string): string | undefined {
  if (!URL.canParse(page)) return undefined
  const from = new URL(page)
  const to = new URL(target)
  if (from.protocol !== 'http:' && from.protocol !== 'https:') return undefined
  if (from.protocol === 'https:' && to.protocol === 'http:') return undefined
  const origin = `${from.origin}/`
  if (from.origin !== to.origin) return origin
  const whole = from.origin + from.pathname + from.search
  return whole.length > maxLength ? origin : whole
}
