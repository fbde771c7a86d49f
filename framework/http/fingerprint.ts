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

/** How fingerprints are made. */
export interface FingerprintOptions extends CanonicalizeOptions {
  /** 64 bits. A seed of a job's own keeps a site from making URLs that collide. Default 0. */
  readonly seed?: bigint
  /** 64: 16 hexadecimal digits; 128: 32. Default 128. */
  readonly bits?: 64 | 128
}

/** What the seed of the second half is made of. */
const golden = 0x9e3779b97f4a7c15n
const mask = 0xffffffffffffffffn

/**
 * xxHash64 of method, canonical URL, body and the headers named, at 128 bits twice with different seeds: two requests with
 * one fingerprint are the same request. Cookies, priority and meta don't count.
 */
export function fingerprint(request: Fingerprinted, options: FingerprintOptions = {}): string {
  const head = `${request.method}\n${canonicalizeUrl(request.url, options)}\n`
  const headers = headersText(request)
  if (headers === '' && (request.body === undefined || request.body.length === 0)) return hash(head, options)
  return hash(Buffer.concat([Buffer.from(head + headers), Buffer.from('\n'), bytesOf(request.body)]), options)
}

/** The fingerprint of a plain GET, or of another method without a body, of a URL that is canonical already. */
export function fingerprintOfUrl(canonicalUrl: string, method = 'GET', options: FingerprintOptions = {}): string {
  return hash(`${method}\n${canonicalUrl}\n`, options)
}

/** The fingerprint of a text that somebody else has made of the request. */
export function fingerprintOfText(text: string, kind: string, options: FingerprintOptions): string {
  return hash(`text ${kind}\n${text}`, options)
}

function hash(input: string | Uint8Array, { seed = 0n, bits = 128 }: FingerprintOptions): string {
  const hash64 = typeof input === 'string' ? (from: bigint) => h64ToString(input, from) : (from: bigint) => hex(h64Raw(input, from))
  return bits === 64 ? hash64(seed) : hash64(seed) + hash64((seed + golden) & mask)
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
