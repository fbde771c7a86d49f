import { CrawlError, messageOf } from '../errors.ts'
import { fingerprint, fingerprintOfText, fingerprintOfUrl, type FingerprintOptions } from '../http/fingerprint.ts'
import { Request } from '../http/request.ts'
import { canonicalizeUrl } from '../http/url.ts'
import type { RequestFingerprint } from '../settings/define.ts'

export interface FingerprinterOptions extends FingerprintOptions {
  /** Headers that make two requests different, for all requests. */
  readonly headers: readonly string[]
  /** The project's own, if it has one. */
  readonly own?: RequestFingerprint | undefined
}

/** What tells requests apart in one crawl, by its settings. */
export class Fingerprinter {
  readonly #options: FingerprinterOptions

  constructor(options: FingerprinterOptions) {
    this.#options = options
  }

  /** @throws CrawlError when the project's own fingerprint can't be made of it. */
  ofRequest(request: Request): string {
    return this.#ownOf(request) ?? (request.kind === 'image' ? this.#ofUrl(request.url, 'IMAGE') : this.#ofPage(request))
  }

  /** An image goes to the pipelines and a page to a callback, so one of them doesn't stand for the other. */
  ofImage(url: string): string {
    return this.#options.own === undefined ? this.#ofUrl(url, 'IMAGE') : this.ofRequest(new Request(url, { kind: 'image' }))
  }

  #ofPage(request: Request): string {
    const names = [...request.fingerprintHeaders, ...this.#options.headers]
    if (request.method === 'GET' && request.body === undefined && names.length === 0 && !request.keepFragment) return this.#ofUrl(request.url, 'GET')
    const { url, method, headers, body } = request
    return fingerprint({ url, method, headers, body, fingerprintHeaders: names }, { ...this.#options, keepFragments: request.keepFragment })
  }

  #ofUrl(url: string, method: string): string {
    return fingerprintOfUrl(canonicalizeUrl(url, this.#options), method, this.#options)
  }

  /** By the project's own rule; undefined where it has none, or leaves it to the usual one. */
  #ownOf(request: Request): string | undefined {
    const { own } = this.#options
    if (own === undefined) return undefined
    let text: unknown
    try {
      text = own(request)
    } catch (cause) {
      throw new CrawlError('fingerprint', `The setting requestFingerprint threw for ${request.url}: ${messageOf(cause)}`, { cause })
    }
    if (text === undefined) return undefined
    if (typeof text === 'string') return fingerprintOfText(text, request.kind, this.#options)
    throw new CrawlError('fingerprint', `The setting requestFingerprint must answer a text, or undefined for the usual one, not ${String(text)} (${request.url}).`)
  }
}
