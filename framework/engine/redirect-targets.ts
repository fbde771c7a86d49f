import { IgnoreRequest } from '../errors.ts'
import type { PageResponse } from '../http/response.ts'
import type { Admission } from './admission.ts'

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
  readonly #admission: Admission
  /** Of the requests in progress. */
  readonly #claimed = new Set<string>()

  constructor(admission: Admission) {
    this.#admission = admission
  }

  watch(): RedirectTarget {
    const admission = this.#admission
    const claimed = this.#claimed
    let met: { readonly fingerprint: string; readonly url: string } | undefined
    return {
      get met() {
        return met
      },
      claim({ request, redirects }) {
        const first = redirects[0]
        if (first === undefined || request.dontFilter) return
        // A page that redirects to itself, for a cookie, is still the page that was asked for.
        if (admission.isSame(request, request.with({ url: first.url }))) return
        const target = admission.target(request)
        if (target === undefined || claimed.has(target.fingerprint)) throw new IgnoreRequest('redirected to a known page')
        claimed.add(target.fingerprint)
        met = { fingerprint: target.fingerprint, url: request.url }
      },
      release() {
        if (met !== undefined) claimed.delete(met.fingerprint)
      },
    }
  }
}
