import type { DistinctCount } from '../dupe-filter/open.ts'
import type { Request } from '../http/request.ts'
import type { Visit } from '../slots/slots.ts'

/** A request that may be new, with what tells it apart. */
export interface NewRequest {
  readonly request: Request
  readonly fingerprint: string
}

/** The right to work on one request. A dead process's leases go back to the frontier. */
export interface Lease {
  /** Unique among all leases of all processes. */
  readonly id: string
  readonly request: Request
  /** The place at the request's host that was taken for it. */
  readonly visit: Visit
  /** 1 for the first try. Tries that the process did not live to settle aren't counted here but in `interruptions`. */
  readonly attempt: number
  /** How often it was put off without a try being counted: the host asked for patience. */
  readonly patience: number
  /** How often the process ended while this request was leased: one that kills it runs out of them. */
  readonly interruptions: number
}

/** How a lease ended. */
export type Outcome =
  | { readonly state: 'done' }
  /** Not wanted or not to be had, on purpose: robots.txt, off site, 404; a pipeline's DropItem. */
  | { readonly state: 'ignored' | 'dropped'; readonly reason: string; readonly message?: string }
  /** Given up, and kept with its reason. */
  | { readonly state: 'failed'; readonly reason: string; readonly message?: string }
  | { readonly state: 'retry'; readonly reason: string; readonly afterMs: number; readonly counted: boolean }
  /** Put back as it was, without counting the try: the crawl is stopping. */
  | { readonly state: 'released' }

export interface Settlement {
  readonly lease: Lease
  readonly outcome: Outcome
  /** What the request has led to: added in the same transaction. Default none. */
  readonly children?: readonly NewRequest[]
  /** The page that redirects led to: met by the run from the moment on when this settlement is. */
  readonly met?: { readonly fingerprint: string; readonly url: string }
}

export interface Leased {
  readonly leases: readonly Lease[]
  /** Milliseconds until more may be leased, if nothing happens before; `Infinity` when only an event can bring more. */
  readonly waitMs: number
}

export interface FrontierCounts {
  readonly pending: number
  /** Of the pending ones: those that wait for a later time. */
  readonly delayed: number
  readonly leased: number
  /** Given up in this run and kept. */
  readonly failed: number
}

/** How many requests of a run ended how: what the report of a run that was killed and resumed is made from. */
export interface OutcomeCount {
  readonly kind: 'page' | 'image'
  readonly state: 'done' | 'ignored' | 'dropped' | 'failed' | 'retry'
  /** Empty for `done`. */
  readonly reason: string
  readonly count: number
}

/** A setting that tells requests apart, and was another when the run began. */
export interface ChangedSetting {
  /** For example `urls.ignoreParameters`. */
  readonly path: string
  /** As JSON. */
  readonly was: string
  readonly is: string
}

/** A run, as it was at this start. */
export interface JobState {
  /** True when it goes on with a run that had not ended. */
  readonly resumed: boolean
  /** True when that run had consumed all of its start requests. */
  readonly started: boolean
  /** How many start requests that run had taken. */
  readonly position: number
  /** Of this job: fingerprints are made with it. */
  readonly seed: bigint
  /** Length of this job's fingerprints. */
  readonly bits: 64 | 128
  /** Settings that make other fingerprints than those that this run has met. */
  readonly changes: readonly ChangedSetting[]
}

/**
 * What one run has discovered, what is being fetched and what is done, and how politely: nothing is leased from a host that
 * may not be visited at that moment. Durable: `kill -9` loses nothing. The dupe filter is part of it, because "is it new"
 * and "add it" must be one step.
 *
 *     add ──▶ pending ──lease──▶ leased ──settle──▶ done, ignored, dropped (forgotten but for the fingerprint)
 *               ▲  ▲                │ │ └─────────▶ failed (kept)
 *               │  └─retry, later───┘ │
 *               └──released, or its process died
 */
export interface Frontier {
  readonly job: JobState
  /** Requests that have been given up at this start, since the process never survived them. */
  readonly givenUp: readonly Request[]
  /** True when fingerprints of Scrapy have been imported: then `hasImported` must be asked too. */
  readonly hasImports: boolean
  /** True when the run has met a request with this fingerprint. Answers at once, so that a known link costs no Request. */
  has(fingerprint: string, url: string): boolean
  /** True when a request with this SHA-1 (40 hexadecimal digits) was imported as seen. */
  hasImported(sha1: string): boolean
  /** Adds the requests that this run has not met and answers how many those were. Adding twice changes nothing. */
  add(requests: readonly NewRequest[]): Promise<number>
  /** Adds start requests and remembers, in the same transaction, that `position` of them have been taken. Answers how many were new. */
  seedFrom(requests: readonly NewRequest[], position: number): Promise<number>
  /** Leases up to `limit` requests whose slots may be visited now, highest priority first in each slot, slots taking turns. */
  lease(limit: number): Promise<Leased>
  /** Ends leases, with what they have led to, in one transaction. One that isn't ours any more is left alone. */
  settle(settlements: readonly Settlement[]): Promise<void>
  counts(): FrontierCounts
  outcomes(): readonly OutcomeCount[]
  distinct(): DistinctCount
  /** Remembers that `start()` has been consumed. */
  markStarted(): Promise<void>
  /** Remembers how this process's crawl has ended, in a word, and whether the run has: then the next one begins anew. */
  end(reason: string, isComplete: boolean): Promise<void>
  close(): Promise<void>
}
