import xxhash from 'xxhash-wasm'
import { canonicalizeUrl, type CanonicalizeOptions } from './url.ts'

const { h64Raw, h64ToString } = await xxhash()

/** What tells two requests apart. */
export interface Fingerprinted {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  /** Names of headers that count. */
  readonly fingerprintHeaders: readonly string[]
}

const secondSeed = 0x9e3779b97f4a7c15n

/**
 * 128-bit xxHash, as 32 hexadecimal digits, of method, canonical URL, body and the headers named: two requests with one
 * fingerprint are the same request. Cookies, priority and meta don't count.
 */
export function fingerprint(request: Fingerprinted, options: CanonicalizeOptions = {}): string {
  const head = `${request.method}\n${canonicalizeUrl(request.url, options)}\n`
  const headers = headersText(request)
  if (headers === '' && (request.body === undefined || request.body.length === 0)) return hash(head)
  return hash(Buffer.concat([Buffer.from(head + headers), Buffer.from('\n'), bytesOf(request.body)]))
}

/** The fingerprint of a plain GET, or of another method without a body, of a URL that is canonical already. */
export function fingerprintOfUrl(canonicalUrl: string, method = 'GET'): string {
  return hash(`${method}\n${canonicalUrl}\n`)
}

function hash(input: string | Uint8Array): string {
  if (typeof input === 'string') return h64ToString(input, 0n) + h64ToString(input, secondSeed)
  return hex(h64Raw(input, 0n)) + hex(h64Raw(input, secondSeed))
}

const hex = (value: bigint): string => value.toString(16).padStart(16, '0')

function headersText(request: Fingerprinted): string {
  if (request.fingerprintHeaders.length === 0) return ''
  const values = new Map(Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]))
  const names = [...new Set(request.fingerprintHeaders.map((name) => name.toLowerCase()))].sort()
  return names.map((name) => `${name}:${values.get(name) ?? ''}\n`).join('')
}

function bytesOf(body: string | Uint8Array | undefined): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : (body ?? new Uint8Array())
}
