import type { DupeFilter } from './dupe-filter.ts'
import { ExactDupeFilter } from './exact.ts'
import type { FingerprintBits } from './fingerprint-parts.ts'
import type { Periods } from './generations.ts'

export interface OnDiskDupeFilterOptions {
  /** Whether there is a row of the fingerprint, committed or not, whose period isn't below `oldest`. */
  readonly lookup: (fingerprint: string, oldest: number) => boolean
  /** Rows that there are at the start. Default 0. */
  readonly stored?: number
  /** Default 64. */
  readonly bits?: FingerprintBits
  /** The time to live. Default: for ever. */
  readonly periods?: Periods | undefined
}

/** Known fingerprints that are remembered: about 8 MB at 64 bits. */
const maxRemembered = 500_000

/**
 * Asks the table of the frontier: exact, and nearly no memory whatever the size, but a look-up in a database for each URL
 * that isn't remembered. Remembered are those found of late, since most links of a page are on the pages beside it too, and
 * those whose rows are perhaps not written yet: as many as the frontier lets wait.
 */
export class OnDiskDupeFilter implements DupeFilter {
  readonly #options: OnDiskDupeFilterOptions
  readonly #unwritten = new Set<string>()
  #remembered: ExactDupeFilter
  #oldest = 0
  #size: number

  constructor(options: OnDiskDupeFilterOptions) {
    this.#options = options
    this.#size = options.stored ?? 0
    this.#remembered = this.#makeRemembered()
  }

  /** With a time to live, expired ones included. */
  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#remembered.bytes + this.#unwritten.size * bytesPerUnwritten
  }

  has(fingerprint: string): boolean {
    const oldest = this.#options.periods?.oldest ?? 0
    // Of what is remembered the period isn't known, so all of it is forgotten when one has passed.
    if (oldest !== this.#oldest) this.#remembered = this.#makeRemembered()
    this.#oldest = oldest
    if (this.#remembered.has(fingerprint) || this.#unwritten.has(fingerprint)) return true
    if (!this.#options.lookup(fingerprint, oldest)) return false
    this.#remember(fingerprint)
    return true
  }

  /** It must be given back to `written` when its row can be looked up. */
  add(fingerprint: string): boolean {
    if (this.has(fingerprint)) return false
    this.#unwritten.add(fingerprint)
    this.#size += 1
    return true
  }

  /** Its row can be looked up from now on. */
  written(fingerprint: string): void {
    if (this.#unwritten.delete(fingerprint)) this.#remember(fingerprint)
  }

  #remember(fingerprint: string): void {
    if (this.#remembered.size >= maxRemembered) this.#remembered = this.#makeRemembered()
    this.#remembered.add(fingerprint)
  }

  #makeRemembered(): ExactDupeFilter {
    return new ExactDupeFilter({ bits: this.#options.bits ?? 64 })
  }
}

/** A string of 16 to 32 digits and its place in the set, about. */
const bytesPerUnwritten = 100
