import { LRUCache } from 'lru-cache'
import { fingerprint, fingerprintOfUrl } from '../http/fingerprint.ts'
import type { Request } from '../http/request.ts'
import { canonicalizeUrl, type CanonicalizeOptions } from '../http/url.ts'

export interface FingerprinterOptions extends CanonicalizeOptions {
  /** Headers that make two requests different, for all requests. */
  readonly headers: readonly string[]
}

/** The links of a site's navigation come again on every page: so many fingerprints of plain URLs are remembered. */
const remembered = 20_000

/** What tells requests apart in one crawl, by its settings. */
export class Fingerprinter {
  readonly #options: FingerprinterOptions
  readonly #cache = new LRUCache<string, string>({ max: remembered })

  constructor(options: FingerprinterOptions) {
    this.#options = options
  }

  ofRequest(request: Request): string {
    const names = [...request.fingerprintHeaders, ...this.#options.headers]
    if (request.method === 'GET' && request.body === undefined && names.length === 0 && !request.keepFragment) return this.ofUrl(request.url)
    const { url, method, headers, body } = request
    return fingerprint({ url, method, headers, body, fingerprintHeaders: names }, { ...this.#options, keepFragments: request.keepFragment })
  }

  /** Of a plain GET. */
  ofUrl(url: string): string {
    let value = this.#cache.get(url)
    if (value === undefined) {
      value = fingerprintOfUrl(canonicalizeUrl(url, this.#options))
      this.#cache.set(url, value)
    }
    return value
  }
}
