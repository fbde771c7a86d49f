import { IgnoreRequest } from '../errors.ts'
import type { Frontier } from '../frontier/frontier.ts'
import type { PageResponse } from '../http/response.ts'
import type { Fingerprinter } from './fingerprinter.ts'

/** Where the redirects of one request have led. */
export interface RedirectTarget {
  /** The page that was reached, once `claim` has let it pass; undefined without redirects. */
  readonly met: { readonly fingerprint: string; readonly url: string } | undefined
  /**
   * Takes a redirected page for this request.
   * @throws IgnoreRequest when the run has met the page under its own URL, or another request has been led to it.
   */
  claim(page: PageResponse): void
  release(): void
}

/** Keeps a page that several URLs redirect to from being read several times. */
export class RedirectTargets {
  readonly #frontier: Frontier
  readonly #fingerprinter: Fingerprinter
  /** Of the requests in progress. */
  readonly #claimed = new Set<string>()

  constructor(frontier: Frontier, fingerprinter: Fingerprinter) {
    this.#frontier = frontier
    this.#fingerprinter = fingerprinter
  }

  watch(): RedirectTarget {
    const frontier = this.#frontier
    const fingerprinter = this.#fingerprinter
    const claimed = this.#claimed
    let met: { readonly fingerprint: string; readonly url: string } | undefined
    return {
      get met() {
        return met
      },
      claim({ request, redirects }) {
        const first = redirects[0]
        if (first === undefined || request.dontFilter) return
        const fingerprint = fingerprinter.ofRequest(request)
        // A page that redirects to itself, for a cookie, is still the page that was asked for.
        if (fingerprint === fingerprinter.ofRequest(request.with({ url: first.url }))) return
        if (frontier.has(fingerprint, request.url) || claimed.has(fingerprint)) throw new IgnoreRequest('redirected to a known page')
        claimed.add(fingerprint)
        met = { fingerprint, url: request.url }
      },
      release() {
        if (met !== undefined) claimed.delete(met.fingerprint)
      },
    }
  }
}
