import { fingerprint, fingerprintOfUrl } from '../http/fingerprint.ts'
import type { Request } from '../http/request.ts'
import { canonicalizeUrl, type CanonicalizeOptions } from '../http/url.ts'

export interface FingerprinterOptions extends CanonicalizeOptions {
  /** Headers that make two requests different, for all requests. */
  readonly headers: readonly string[]
}

/** What tells requests apart in one crawl, by its settings. */
export class Fingerprinter {
  readonly #options: FingerprinterOptions

  constructor(options: FingerprinterOptions) {
    this.#options = options
  }

  ofRequest(request: Request): string {
    if (request.kind === 'image') return this.ofImage(request.url)
    const names = [...request.fingerprintHeaders, ...this.#options.headers]
    if (request.method === 'GET' && request.body === undefined && names.length === 0 && !request.keepFragment) return this.ofUrl(request.url)
    const { url, method, headers, body } = request
    return fingerprint({ url, method, headers, body, fingerprintHeaders: names }, { ...this.#options, keepFragments: request.keepFragment })
  }

  /** An image goes to the pipelines and a page to a callback, so one of them doesn't stand for the other. */
  ofImage(url: string): string {
    return fingerprintOfUrl(canonicalizeUrl(url, this.#options), 'IMAGE')
  }

  /** Of a plain GET. */
  ofUrl(url: string): string {
    return fingerprintOfUrl(canonicalizeUrl(url, this.#options))
  }
}
