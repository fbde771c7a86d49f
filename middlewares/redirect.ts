import { isUtf8 } from 'node:buffer'
import { IgnoreRequest, type DownloaderMiddleware, type Redirect, type Request, type Response } from 'orbweaver'

const statuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Headers that may prove who asks: a host that didn't get them from the spider doesn't get them from a redirect. */
const secret = /^(cookie|proxy-.*)$|auth|token|key|secret|session|passw|credential|csrf|xsrf|signature/i

const beyondAscii = /[\u0080-\uffff]/

/** Follows redirects, at most `redirect.max` of them. Each hop passes the middlewares inside and its own host's slot. */
export const redirect: DownloaderMiddleware = ({ settings }) =>
  async function redirect(request, next) {
    let response = await next(request)
    if (!statuses.has(response.status)) return response

    const { max } = settings.redirect
    const chain: Redirect[] = []
    const seen = new Set<string>()
    let hop = request
    while (statuses.has(response.status)) {
      chain.push({ url: hop.url, status: response.status })
      // A page may send to itself until a cookie is there, so a cookie begins the search for a loop anew.
      if (response.headers['set-cookie'] === undefined) seen.add(keyOf(hop))
      else seen.clear()
      hop = followed(hop, response)
      if (seen.has(keyOf(hop))) throw ignored('redirect loop', chain, `back to ${hop.url}`)
      if (chain.length > max) throw ignored('too many redirects', chain, `and on to ${hop.url}; redirect.max is ${max}`)
      response = await next(hop)
    }
    return response.withRedirects(chain)
  }

function followed(request: Request, response: Response): Request {
  const location = response.headers['location'] ?? ''
  const from = new URL(request.url)
  const to = targetOf(location, from)
  if (to === undefined) {
    const shown = location === '' ? 'no Location' : `a Location that can't be followed: ${location.slice(0, 200)}`
    throw new IgnoreRequest('bad redirect', { message: `The answer ${response.status} came with ${shown}.` })
  }
  const sameOrigin = to.origin === from.origin
  if (to.hash === '') to.hash = from.hash
  if (sameOrigin && to.username === '') {
    to.username = from.username
    to.password = from.password
  }
  const method = methodAfter(response.status, request.method)
  const dropsBody = method !== request.method
  const kept = Object.entries(request.headers).filter(([name]) => {
    return (sameOrigin || !secret.test(name)) && !(dropsBody && /^content-/i.test(name))
  })
  return request.with({ url: to, method, headers: Object.fromEntries(kept), ...(dropsBody ? { body: '' } : {}) })
}

/** RFC 9110 §15.4: 303 asks for another page; 301 and 302 turn POST into GET, as browsers do; 307 and 308 change nothing. */
function methodAfter(status: number, method: string): string {
  if (status === 303) return method === 'HEAD' ? 'HEAD' : 'GET'
  return (status === 301 || status === 302) && method === 'POST' ? 'GET' : method
}

/** Undefined when there is no http(s) URL in it. */
function targetOf(location: string, base: URL): URL | undefined {
  if (location === '') return undefined
  try {
    const url = new URL(unmangled(location), base)
    return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined
  } catch {
    return undefined
  }
}

/** Header values come in Latin-1. Bytes beyond ASCII are UTF-8 where that is possible, else they are escaped one by one. */
function unmangled(location: string): string {
  if (!beyondAscii.test(location)) return location
  const bytes = Buffer.from(location, 'latin1')
  if (isUtf8(bytes)) return bytes.toString('utf8')
  return location.replace(/[\u0080-\uffff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)
}

function keyOf({ method, url }: Request): string {
  const hash = url.indexOf('#')
  return `${method} ${hash === -1 ? url : url.slice(0, hash)}`
}

function ignored(reason: string, chain: readonly Redirect[], rest: string): IgnoreRequest {
  const hops = chain.map(({ url, status }) => `${url} (${status})`).join(' → ')
  return new IgnoreRequest(reason, { message: `${hops}, ${rest}.`.replace(/\/\/[^/?#]*@/g, '//') })
}
