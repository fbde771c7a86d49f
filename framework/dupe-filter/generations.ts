import type { DupeFilter } from './dupe-filter.ts'
import type { LoadableDupeFilter } from './fingerprint-parts.ts'

export interface PeriodsOptions {
  /** After so many milliseconds, and up to a quarter more, a fingerprint counts as new again. */
  readonly ttlMs: number
  /** The time in milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined
}

export interface GenerationsOptions extends PeriodsOptions {
  /** Makes the filter of one period. */
  readonly make: () => LoadableDupeFilter
  /** How many URLs of all periods together the settings promise room for. Default: any number. */
  readonly capacity?: number
  /** Called once, when more than `capacity` URLs are known. */
  readonly onGrown?: (() => void) | undefined
}

/** How many periods a time to live has. */
export const periodsPerTtl = 4
/** Of which a fingerprint is known: the current one and as many as are needed for the whole time to live. */
export const livePeriods = periodsPerTtl + 1

/** Time in quarters of a time to live. It stands still when the clock is set back. */
export class Periods {
  readonly #lengthMs: number
  readonly #now: () => number
  #newest = 0

  constructor(options: PeriodsOptions) {
    this.#lengthMs = options.ttlMs / periodsPerTtl
    this.#now = options.now ?? Date.now
  }

  /** What is stored beside a fingerprint that is added now: the time divided by a quarter of the time to live. */
  get period(): number {
    this.#newest = Math.max(this.#newest, Math.floor(this.#now() / this.#lengthMs))
    return this.#newest
  }

  /** Fingerprints that were stored with a lower period have expired, and may be deleted. */
  get oldest(): number {
    return this.period - periodsPerTtl
  }
}

/**
 * Forgets after a time to live: a filter for each quarter of it. What is added goes into the newest, what is asked for is
 * looked up in the newest five, and older ones are dropped whole, so that time costs nothing for each URL. Meeting a
 * fingerprint again doesn't prolong its time.
 */
export class Generations implements DupeFilter {
  readonly #periods: Periods
  readonly #options: GenerationsOptions
  /** By period, at most five. */
  readonly #filters = new Map<number, LoadableDupeFilter>()
  #dropped = -Infinity
  #isGrown = false

  constructor(options: GenerationsOptions) {
    this.#periods = new Periods(options)
    this.#options = options
  }

  /** As of `Periods`: the frontier stores it beside each fingerprint that is added now. */
  get period(): number {
    return this.#periods.period
  }

  /** As of `Periods`. */
  get oldest(): number {
    return this.#periods.oldest
  }

  get size(): number {
    return this.#sum((filter) => filter.size)
  }

  get bytes(): number {
    return this.#sum((filter) => filter.bytes)
  }

  has(fingerprint: string, url: string): boolean {
    this.#dropOld()
    for (const filter of this.#filters.values()) if (filter.has(fingerprint, url)) return true
    return false
  }

  add(fingerprint: string, url: string): boolean {
    if (this.has(fingerprint, url)) return false
    return this.#count(this.#filterOf(this.period).add(fingerprint, url))
  }

  /**
   * Takes over a stored fingerprint, and answers false when it has expired. One of a period to come, stored before the clock
   * was set back, counts as of this one.
   */
  addParts(high: number, low: number, high2: number, low2: number, host: string | undefined, period: number): boolean {
    this.#dropOld()
    if (period < this.oldest) return false
    return this.#count(this.#filterOf(Math.min(period, this.period)).addParts(high, low, high2, low2, host))
  }

  #count(isNew: boolean): boolean {
    const { capacity } = this.#options
    if (isNew && capacity !== undefined && !this.#isGrown && this.size > capacity) {
      this.#isGrown = true
      this.#options.onGrown?.()
    }
    return isNew
  }

  #filterOf(period: number): LoadableDupeFilter {
    let filter = this.#filters.get(period)
    if (filter === undefined) {
      filter = this.#options.make()
      this.#filters.set(period, filter)
    }
    return filter
  }

  #dropOld(): void {
    const oldest = this.#periods.oldest
    if (oldest === this.#dropped) return
    this.#dropped = oldest
    for (const period of this.#filters.keys()) if (period < oldest) this.#filters.delete(period)
  }

  #sum(read: (filter: LoadableDupeFilter) => number): number {
    this.#dropOld()
    let sum = 0
    for (const filter of this.#filters.values()) sum += read(filter)
    return sum
  }
}
