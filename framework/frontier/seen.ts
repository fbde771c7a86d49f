import type Database from 'libsql'
import { hostOf } from '../dupe-filter/by-host.ts'
import { ExactDupeFilter } from '../dupe-filter/exact.ts'
import { fingerprintParts } from '../dupe-filter/fingerprint-parts.ts'
import { periodsPerTtl } from '../dupe-filter/generations.ts'
import { openDupeFilter, type DistinctCount, type DupeFilterOptions, type OpenedDupeFilter } from '../dupe-filter/open.ts'
import type { Statements } from './tables.ts'
import type { SeenValues } from './writes.ts'

export interface SeenOptions {
  readonly database: Database.Database
  readonly statements: Statements
  readonly bits: 64 | 128
  readonly dupeFilter: Pick<DupeFilterOptions, 'kind' | 'capacity' | 'errorRate' | 'per' | 'ttlMs'>
  /** Is told in words when there are more URLs than the dupe filter was made for. */
  readonly onGrown: (message: string) => void
}

/** kiB of the file that are held in memory when fingerprints are looked up in it. */
const cacheOnDisk = 64_000

/** What the run has met: the dupe filter, and the rows from which it is made again at the next start. */
export class Seen {
  readonly #filter: OpenedDupeFilter
  readonly #statements: Statements
  readonly #imported: ExactDupeFilter | undefined
  /** ms of one period of the dupe filter; rows have seconds, so that the time to live can be changed between two starts. */
  readonly #periodMs: number
  /** The oldest period of which rows have been removed from the file. */
  #expiredTo = 0

  constructor({ database, statements, bits, dupeFilter, onGrown }: SeenOptions) {
    this.#statements = statements
    this.#periodMs = dupeFilter.ttlMs / periodsPerTtl
    const isOnDisk = dupeFilter.kind === 'disk'
    database.exec(isOnDisk ? `create index if not exists seen_fingerprint on seen (high, low); pragma cache_size = -${cacheOnDisk}` : 'drop index if exists seen_fingerprint')
    if (dupeFilter.ttlMs > 0) database.prepare('update seen set at = ? where at = 0').run(seconds(Date.now()))
    const stored = (database.prepare('select coalesce(max(n) - min(n) + 1, 0) as count from seen').get() as { count: number }).count
    this.#filter = openDupeFilter({ ...dupeFilter, bits, stored, onGrown, lookup: (fingerprint, oldest) => this.#isStored(fingerprint, oldest) })
    if (!isOnDisk) this.#load(database)
    this.#imported = loadImported(database)
  }

  get hasImports(): boolean {
    return this.#imported !== undefined
  }

  has(fingerprint: string, url: string): boolean {
    return this.#filter.has(fingerprint, url)
  }

  hasImported(sha1: string): boolean {
    return this.#imported?.has(sha1.slice(0, 16)) === true
  }

  /** Remembers it, and answers the row that makes that durable; undefined when it was met before. */
  add(fingerprint: string, url: string): SeenValues | undefined {
    if (!this.#filter.add(fingerprint, url)) return undefined
    const [high, low, high2 = null, low2 = null] = fingerprintParts(fingerprint)
    const host = this.#filter.needsHost ? hostOf(url) : null
    const at = this.#periodMs === 0 ? 0 : seconds(Date.now())
    return [high, low, high2, low2, host, at]
  }

  /** Its row is committed. */
  written(fingerprint: string): void {
    this.#filter.written(fingerprint)
  }

  /** What removes some rows that are older than the time to live; undefined when there are none. */
  expire(): (() => void) | undefined {
    const { oldest } = this.#filter
    if (oldest <= this.#expiredTo) return undefined
    return () => {
      if (oldest > this.#expiredTo && this.#statements.expireSeen.run(this.#secondsOf(oldest)).changes === 0) this.#expiredTo = oldest
    }
  }

  distinct(): DistinctCount {
    return this.#filter.distinct()
  }

  #load(database: Database.Database): void {
    const { oldest } = this.#filter
    const rows = database.prepare('select high, low, high2, low2, host, at from seen where at >= ?').raw().iterate(this.#secondsOf(oldest))
    for (const row of rows) {
      const [high, low, high2, low2, host, at] = row as SeenValues
      const period = this.#periodMs === 0 ? 0 : Math.floor((at * 1_000) / this.#periodMs)
      this.#filter.load(high, low, high2 ?? 0, low2 ?? 0, host ?? undefined, period)
    }
  }

  #isStored(fingerprint: string, oldest: number): boolean {
    const [high, low, high2 = null, low2 = null] = fingerprintParts(fingerprint)
    return this.#statements.findSeen.get(high, low, high2, low2, this.#secondsOf(oldest)) !== undefined
  }

  #secondsOf(period: number): number {
    return Math.ceil((period * this.#periodMs) / 1_000)
  }
}

const seconds = (ms: number): number => Math.floor(ms / 1_000)

/** Fingerprints of Scrapy, by the first 64 bits of each; undefined when none have been imported. */
function loadImported(database: Database.Database): ExactDupeFilter | undefined {
  let imported: ExactDupeFilter | undefined
  for (const row of database.prepare('select high, low from imported').raw().iterate()) {
    const [high, low] = row as [number, number]
    imported ??= new ExactDupeFilter()
    imported.addParts(high, low, 0, 0)
  }
  return imported
}
