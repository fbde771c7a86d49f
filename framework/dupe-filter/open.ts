import { BloomDupeFilter, bloomBytes } from './bloom.ts'
import { DupeFilterByHost } from './by-host.ts'
import type { DupeFilter } from './dupe-filter.ts'
import { ExactDupeFilter } from './exact.ts'
import type { FingerprintBits, LoadableDupeFilter } from './fingerprint-parts.ts'
import { Generations, livePeriods, Periods, periodsPerTtl } from './generations.ts'
import { HyperLogLogBank } from './hyperloglog-bank.ts'
import { HyperLogLog } from './hyperloglog.ts'
import { OnDiskDupeFilter } from './on-disk.ts'

export type DupeFilterKind = 'memory' | 'disk' | 'bloom' | 'lossy-hyperloglog'

export interface DupeFilterOptions {
  /** Exact in memory, exact on disk, a Bloom filter, or a bank of HyperLogLogs that loses about 0.3 % of new URLs. */
  readonly kind: DupeFilterKind
  /** What is compared of a fingerprint; a Bloom filter and a bank use 64 bits of 128. */
  readonly bits: FingerprintBits
  /** URLs that a Bloom filter or a bank is made for. */
  readonly capacity: number
  /** Share of new URLs, between 0 and 1, that a Bloom filter may take for known. */
  readonly errorRate: number
  /** One Bloom filter for all, or one for each host. The other kinds are the same either way. */
  readonly per: 'job' | 'host'
  /** Milliseconds after which a URL counts as new again. 0: never. */
  readonly ttlMs: number
  /** For the kind `disk`: whether a row of the fingerprint, written or committed, has a period of `oldest` or later. */
  readonly lookup?: (fingerprint: string, oldest: number) => boolean
  /** For the kind `disk`: rows that there are at the start. Default 0. */
  readonly stored?: number
  /** Called once, with a text for the log, when there are more URLs than `capacity`. */
  readonly onGrown: (message: string) => void
  /** The time in milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined
}

/** How many different fingerprints there were, and the relative standard error of that: 0 when it is exact. */
export interface DistinctCount {
  readonly count: number
  readonly error: number
}

/** The dupe filter of a frontier, which stores each fingerprint that it adds and gives all of them back at the start. */
export interface OpenedDupeFilter extends DupeFilter {
  /** False when it may take a new URL for known. */
  readonly isExact: boolean
  /** Whether the host must be stored beside each fingerprint and be given to `load`. */
  readonly needsHost: boolean
  /** What to store beside each fingerprint that is added now. Always 0 without a time to live. */
  readonly period: number
  /** Rows with a lower period have expired and may be deleted. */
  readonly oldest: number
  /**
   * Takes over a stored row at the start; the numbers are those of `fingerprintParts`. Not for the kind `disk`, which looks its
   * rows up.
   */
  load(high: number, low: number, high2: number, low2: number, host: string | undefined, period: number): void
  /** The row of a fingerprint that was added can be looked up from now on. Only the kind `disk` needs to know. */
  written(fingerprint: string): void
  /**
   * How many different fingerprints it was given. Exact for exact kinds without a time to live, of what was
   * added; else by a HyperLogLog.
   */
  distinct(): DistinctCount
}

/**
 * Makes the dupe filter that the settings ask for.
 * @throws TypeError when the kind is `disk` and there is no `lookup`.
 */
export function openDupeFilter(options: DupeFilterOptions): OpenedDupeFilter {
  const { kind, bits, ttlMs, now } = options
  const isExact = kind === 'memory' || kind === 'disk'
  const traits: Traits = {
    isExact,
    needsHost: kind === 'bloom' && options.per === 'host',
    counter: isExact && ttlMs === 0 ? undefined : new HyperLogLog(),
  }
  if (kind === 'disk') {
    if (options.lookup === undefined) throw new TypeError('The dupe filter of the kind disk needs a lookup.')
    const { lookup, stored = 0 } = options
    const periods = ttlMs === 0 ? undefined : new Periods({ ttlMs, now })
    const filter = new OnDiskDupeFilter({ lookup, stored, bits, periods })
    return new Opened(traits, filter, { periods, written: (fingerprint) => filter.written(fingerprint) })
  }
  const filter = openInMemory(options)
  return new Opened(traits, filter, {
    load: (high, low, high2, low2, host, period) => filter.addParts(high, low, high2, low2, host, period),
    periods: filter instanceof Generations ? filter : undefined,
  })
}

function openInMemory(options: DupeFilterOptions): Generations | LoadableDupeFilter {
  const { kind, capacity, ttlMs, now } = options
  const text = messageOfGrowth(options)
  const onGrown = (): void => options.onGrown(text)
  if (ttlMs === 0) return makeInMemory(options, onGrown)
  if (kind !== 'bloom') {
    const promise = kind === 'memory' ? {} : { capacity, onGrown }
    return new Generations({ ttlMs, now, ...promise, make: () => makeInMemory(options, undefined) })
  }
  // Of all periods each is asked, so their rates add up; each begins with room for its share.
  const share = {
    ...options,
    errorRate: options.errorRate / livePeriods,
    capacity: Math.ceil(capacity / (periodsPerTtl)),
  }
  return new Generations({ ttlMs, now, capacity, onGrown, make: () => makeInMemory(share, undefined) })
}

function makeInMemory(options: DupeFilterOptions, onGrown: (() => void) | undefined): LoadableDupeFilter {
  const { kind, bits, capacity, errorRate, per } = options
  if (kind === 'memory') return new ExactDupeFilter({ bits })
  if (kind === 'lossy-hyperloglog') return new HyperLogLogBank({ capacity, onGrown })
  if (per === 'job') return new BloomDupeFilter({ capacity, errorRate, onGrown })
  // The filter of a host and the one that all hosts share are both asked.
  const ofOne = errorRate / 2
  const fitting = Math.floor((firstUrlsOfHost * firstBytesOfHost) / bloomBytes(firstUrlsOfHost, ofOne / 2))
  const ofHost = { capacity: Infinity, errorRate: ofOne, firstCapacity: Math.min(firstUrlsOfHost, fitting) }
  const make = (): LoadableDupeFilter => new BloomDupeFilter(ofHost)
  return new DupeFilterByHost({ capacity, onGrown, make })
}

/** What the first layer of a host's Bloom filter is made for, as far as it fits into the bytes: 2.5 kB with what is around it. */
const firstUrlsOfHost = 1_000
const firstBytesOfHost = 1_800

function messageOfGrowth({ kind, capacity, errorRate }: DupeFilterOptions): string {
  const passed = `There are more URLs than dupeFilter.capacity, ${capacity.toLocaleString('en-US')}`
  if (kind === 'bloom') {
    const kept = `It takes at most ${errorRate * 100} % of new URLs for known as before`
    return `${passed}: the Bloom filter grows. ${kept}, in more memory and with slower look-ups.`
  }
  const loss = 'from now on the HyperLogLogs lose more than 0.5 % of new URLs, and 1 % at twice as many'
  return `${passed}: ${loss}. Raise it before the next run, or set dupeFilter.kind to bloom.`
}

interface Traits {
  readonly isExact: boolean
  readonly needsHost: boolean
  /** Undefined when the filter knows the number exactly. */
  readonly counter: HyperLogLog | undefined
}

interface Wiring {
  readonly load?: OpenedDupeFilter['load']
  readonly written?: OpenedDupeFilter['written']
  /** Undefined without a time to live. */
  readonly periods: Pick<Periods, 'period' | 'oldest'> | undefined
}

class Opened implements OpenedDupeFilter {
  readonly isExact: boolean
  readonly needsHost: boolean
  readonly #counter: HyperLogLog | undefined
  readonly #filter: DupeFilter
  readonly #wiring: Wiring

  constructor({ isExact, needsHost, counter }: Traits, filter: DupeFilter, wiring: Wiring) {
    this.isExact = isExact
    this.needsHost = needsHost
    this.#counter = counter
    this.#filter = filter
    this.#wiring = wiring
  }

  get size(): number {
    return this.#filter.size
  }

  get bytes(): number {
    return this.#filter.bytes + (this.#counter?.bytes ?? 0)
  }

  get period(): number {
    return this.#wiring.periods?.period ?? 0
  }

  get oldest(): number {
    return this.#wiring.periods?.oldest ?? 0
  }

  has(fingerprint: string, url: string): boolean {
    return this.#filter.has(fingerprint, url)
  }

  add(fingerprint: string, url: string): boolean {
    this.#counter?.add(fingerprint)
    return this.#filter.add(fingerprint, url)
  }

  load(high: number, low: number, high2: number, low2: number, host: string | undefined, period: number): void {
    this.#counter?.addParts(high, low)
    this.#wiring.load?.(high, low, high2, low2, host, period)
  }

  written(fingerprint: string): void {
    this.#wiring.written?.(fingerprint)
  }

  distinct(): DistinctCount {
    if (this.#counter === undefined) return { count: this.#filter.size, error: 0 }
    return { count: this.#counter.count(), error: HyperLogLog.error }
  }
}
