import { readFileSync } from 'node:fs'

/** What a crawling process used after its warm-up. */
export interface Measurement {
  /** All items, those of the warm-up too. */
  readonly counted: number
  readonly expected: number
  /** Items after the warm-up: those that the figures are of. */
  readonly measured: number
  /** The end of the warm-up on the monotonic clock, which profiles use too, in microseconds. */
  readonly measuredFromUs: number
  /** User and system time of all threads of the process. */
  readonly cpuMsPerItem: number
  readonly itemsPerSecond: number
  /** Of the whole life of the process. */
  readonly peakRssBytes: number
}

/** Measures a process from the end of its warm-up, the first tenth of the items, to `finish`. */
export class Meter {
  readonly #expected: number
  readonly #warmUp: number
  #counted = 0
  #baseline: { cpu: NodeJS.CpuUsage; atUs: number } | undefined

  constructor(expected: number) {
    this.#expected = expected
    this.#warmUp = Math.ceil(expected / 10)
  }

  /** One more item is done. */
  count(): void {
    this.#counted += 1
    if (this.#counted === this.#warmUp) this.#baseline = { cpu: process.cpuUsage(), atUs: monotonicUs() }
  }

  /** Call when everything is closed. Throws when the crawl ended in its warm-up. */
  finish(): Measurement {
    const measured = this.#counted - this.#warmUp
    if (this.#baseline === undefined || measured < 1) {
      throw new Error(`the crawl ended after ${this.#counted} of ${this.#expected} items, within its warm-up`)
    }
    const { user, system } = process.cpuUsage(this.#baseline.cpu)
    return {
      counted: this.#counted,
      expected: this.#expected,
      measured,
      measuredFromUs: this.#baseline.atUs,
      cpuMsPerItem: (user + system) / 1_000 / measured,
      itemsPerSecond: (measured / (monotonicUs() - this.#baseline.atUs)) * 1_000_000,
      peakRssBytes: peakRssBytes(),
    }
  }
}

function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}

/** Linux counts the parent's memory at the fork into `maxRSS`, so the kernel's own figure for this process goes first. */
export function peakRssBytes(): number {
  const highWater = process.platform === 'linux' ? /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) : null
  return (highWater === null ? process.resourceUsage().maxRSS : Number(highWater[1])) * 1_024
}
