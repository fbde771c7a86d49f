import iconv from 'iconv-lite'
import { UrlError } from '../errors.ts'

export interface CanonicalizeOptions {
  /** Keep `#fragment`. Default false: it never reaches the server. */
  readonly keepFragments?: boolean
  /** Keep parameters without a value. Default true. */
  readonly keepBlankValues?: boolean
  /** Encoding of the page that the URL was written on: non-ASCII text in the query is sent in it. Default `utf-8`. */
  readonly encoding?: string
  /**
   * Names of query and path parameters that don't matter, such as session ids; letter case is ignored and a `*` at the
   * end matches any rest. Default none.
   */
  readonly ignoreParameters?: readonly string[]
}

/**
 * The one spelling of a URL that all spellings of the same resource share: what a browser would fetch (WHATWG URL:
 * lower-case scheme and host, IDN in punycode, default port off, dot segments resolved), percent-encoding normalised
 * (RFC 3986 §6.2.2), the query sorted by name and value and written as forms write it, the fragment off.
 * Used to tell requests apart; what is sent keeps the query as it was written, since signed URLs depend on it.
 * @throws UrlError when `url` isn't absolute or is malformed.
 */
export function canonicalizeUrl(url: string | URL, options: CanonicalizeOptions = {}): string {
  if (typeof url === 'string' && plain.test(url)) return url
  const parsed = typeof url === 'string' ? parseUrl(url, undefined, options.encoding) : url
  const fragment = options.keepFragments === true ? parsed.hash : ''
  if (!isWeb(parsed.protocol) && parsed.protocol !== 'ftp:') {
    return options.keepFragments === true ? parsed.href : withoutFragment(parsed.href)
  }
  const ignored = options.ignoreParameters ?? []
  const path = canonicalPath(parsed.pathname, ignored)
  const query = canonicalQuery(parsed.search, options.keepBlankValues ?? true, ignored)
  const credentials = parsed.username + (parsed.password === '' ? '' : `:${parsed.password}`)
  return `${parsed.protocol}//${credentials === '' ? '' : `${credentials}@`}${parsed.host}${path}${query}${fragment}`
}

/** URLs that are canonical as they stand: most links of most pages, which then needn't be parsed. */
const plain = /^https?:\/\/(?:[a-z][a-z-]*(?:\.[a-z][a-z-]*)*|(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3})(?::(?!(?:80|443)\/)[1-9]\d{0,4})?(?:\/(?!\.{1,2}(?:\/|$))[\w\-.~!$&'()*,=:@|[\]+]*)+$/

/**
 * Parses `url` as browsers do (WHATWG URL), relative to `base` when given.
 * @param encoding encoding of the page; non-ASCII text in the query of an http(s) URL is written in it.
 * @throws UrlError when it is malformed, or relative without a base.
 */
export function parseUrl(url: string, base?: string | URL, encoding?: string): URL {
  try {
    return new URL(encoding === undefined ? url : encodeQuery(url, encoding), base)
  } catch (cause) {
    const shown = url.length > 200 ? `${url.slice(0, 199)}…` : url
    throw new UrlError(`"${shown}" is no valid ${base === undefined ? 'absolute ' : ''}URL.`, { cause })
  }
}

/** True for the schemes that are crawled: http and https. `protocol` ends with a colon, as in `URL`. */
export function isWeb(protocol: string): boolean {
  return protocol === 'http:' || protocol === 'https:'
}

export function withoutFragment(href: string): string {
  const hash = href.indexOf('#')
  return hash === -1 ? href : href.slice(0, hash)
}

/** WHATWG Encoding §4.3, "get an output encoding": pages in these send UTF-8. */
const sentAsUtf8 = /^(?:utf-?8|utf-?16(?:-?[lb]e)?|replacement)$/i

/** WHATWG URL, "query state": a page's own encoding is used for its queries, UTF-8 for all else. */
function encodeQuery(url: string, encoding: string): string {
  const start = url.indexOf('?')
  if (start === -1 || sentAsUtf8.test(encoding) || !/\P{ASCII}/u.test(url.slice(start))) return url
  const hash = url.indexOf('#', start)
  const end = hash === -1 ? url.length : hash
  const query = url.slice(start, end).replace(/\P{ASCII}+/gu, (text) => {
    const bytes = iconv.encodingExists(encoding) ? iconv.encode(text, encoding) : Buffer.from(text)
    return Array.from(bytes, hexEscape).join('')
  })
  return url.slice(0, start) + query + url.slice(end)
}

const hexEscape = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`

/**
 * Characters that a browser leaves as they are in a path, so that their escapes mean the same. Not among them: `/ ? # %`,
 * whose escapes are data, and `+` and `;`, whose escapes name other objects on S3 and on Java servers.
 */
const plainInPath = /[A-Za-z0-9\-._~!$&'()*,=:@|[\]]/

function canonicalPath(path: string, ignored: readonly string[]): string {
  let canonical = path
  if (canonical.includes('%')) {
    canonical = canonical.replace(/%([0-9a-f]{2})/gi, (escape, hex: string, at: number) => {
      const character = String.fromCharCode(parseInt(hex, 16))
      // Behind a % that begins no escape, a letter or digit could make it begin one.
      const isBehindStray = /%[0-9a-f]?$/i.test(path.slice(Math.max(0, at - 2), at))
      return plainInPath.test(character) && !isBehindStray ? character : escape.toUpperCase()
    })
  }
  if (/[\^`{}"<> ]/.test(canonical)) canonical = canonical.replace(/[\^`{}"<> ]/g, (text) => hexEscape(text.charCodeAt(0)))
  if (ignored.length > 0 && canonical.includes(';')) {
    canonical = canonical.replace(/;([^=/;]+)(?:=[^/;]*)?/g, (all, name: string) => (isIgnored(name, ignored) ? '' : all))
  }
  return canonical
}

function canonicalQuery(search: string, keepBlankValues: boolean, ignored: readonly string[]): string {
  if (search.length < 2) return ''
  const pairs: { name: string; value: string }[] = []
  for (const part of search.slice(1).split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = formEncode(equals === -1 ? part : part.slice(0, equals))
    const value = equals === -1 ? '' : formEncode(part.slice(equals + 1))
    if (value === '' && !keepBlankValues) continue
    if (ignored.length > 0 && isIgnored(name, ignored)) continue
    pairs.push({ name, value })
  }
  if (pairs.length === 0) return ''
  pairs.sort((a, b) => compare(a.name, b.name) || compare(a.value, b.value))
  return `?${pairs.map(({ name, value }) => `${name}=${value}`).join('&')}`
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** One spelling for each text of a form: `application/x-www-form-urlencoded` with upper-case escapes. */
function formEncode(text: string): string {
  if (/^[A-Za-z0-9_.~-]*$/.test(text)) return text
  return text.replace(/%[0-9a-f]{2}|[^A-Za-z0-9_.~-]/gi, (piece) => {
    if (piece === '+' || piece === '%20') return '+'
    if (piece.length === 3) {
      const character = String.fromCharCode(parseInt(piece.slice(1), 16))
      return /[A-Za-z0-9_.~-]/.test(character) ? character : piece.toUpperCase()
    }
    return Array.from(Buffer.from(piece), hexEscape).join('')
  })
}

function isIgnored(name: string, patterns: readonly string[]): boolean {
  const lower = name.toLowerCase()
  return patterns.some((pattern) => {
    const text = pattern.toLowerCase()
    return text.endsWith('*') ? lower.startsWith(text.slice(0, -1)) : lower === text
  })
}
