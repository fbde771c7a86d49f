import type { Request } from '../http/request.ts'

/** The right to work on one request. A dead process's leases go back to the frontier. */
export interface Lease {
  /** Unique among all leases of all processes. */
  readonly id: string
  readonly request: Request
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
  /** Fingerprint of the URL that redirects led to: met by the run from the moment on when this settlement is. */
  readonly met?: string
}

/** What the scheduler has room for. */
export interface Demand {
  readonly limit: number
  /** At most so many from one slot, so that one host can't fill the buffer. */
  readonly perSlot: number
  /** Slots from which nothing is wanted: they have enough here or may not be visited yet. */
  readonly fullSlots: ReadonlySet<string>
}

export interface Leased {
  readonly leases: readonly Lease[]
  /** Milliseconds until a delayed request comes due; `Infinity` when none is delayed. */
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

/** A pause that a host has asked for. */
export interface SlotPause {
  readonly slot: string
  /** ms since 1970. */
  readonly until: number
}

/**
 * What one run has discovered, what is being fetched and what is done. Durable: `kill -9` loses nothing.
 * The dupe filter is part of it, because "is it new" and "add it" must be one step.
 *
 *     add ──▶ pending ──lease──▶ leased ──settle──▶ done, ignored, dropped (forgotten but for the fingerprint)
 *               ▲  ▲                │ │ └─────────▶ failed (kept)
 *               │  └─retry, later───┘ │
 *               └──released, or its process died
 */
export interface Frontier {
  /** True when it goes on with a run that had not ended. */
  readonly resumed: boolean
  /** True when that run had consumed all of its start requests. */
  readonly started: boolean
  /** Requests that have been given up at this start, since the process never survived them. */
  readonly givenUp: readonly Request[]
  /** True when the run has met a request with this fingerprint. Answers from memory, so that a known link costs no Request. */
  has(fingerprint: string): boolean
  /** Adds the requests that this run has not met and answers how many those were. Adding twice changes nothing. */
  add(requests: readonly Request[]): Promise<number>
  /** Leases due requests, highest priority first, taking slots in turn. */
  lease(demand: Demand): Promise<Leased>
  /** Ends leases. One that isn't ours any more is left alone. */
  settle(settlements: readonly Settlement[]): Promise<void>
  /** No request of `slot` is leased before `until` (ms since 1970): a Retry-After outlives a crash. */
  pauseSlot(slot: string, until: number): Promise<void>
  /** The pauses that are not over. */
  pauses(): readonly SlotPause[]
  counts(): FrontierCounts
  outcomes(): readonly OutcomeCount[]
  /** Marks that `start()` has been consumed, or that the run has ended, so that the next one begins anew. */
  mark(mark: 'started' | 'ended'): Promise<void>
  close(): Promise<void>
}
