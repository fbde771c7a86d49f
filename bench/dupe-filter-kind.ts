/** A process of `dupe-filters.ts`: one kind of dupe filter, measured from within. */
import { join } from 'node:path'
import Database from 'libsql'
import { fingerprintParts } from '../framework/dupe-filter/fingerprint-parts.ts'
import { openDupeFilter, type DupeFilterOptions, type OpenedDupeFilter } from '../framework/dupe-filter/open.ts'
import { fingerprintOfUrl } from '../framework/http/fingerprint.ts'
import { receiveInput, sendReport } from './child.ts'
import { dupeFilterCases, type DupeFilterCase } from './dupe-filter-cases.ts'

export interface KindInput {
  readonly name: DupeFilterCase
  readonly entries: number
  readonly folder: string
}

/** Rates are of CPU time, user and system, which hardly moves when other programs want the machine too. */
export interface KindReport {
  /** The most at any size from 100,000 on that was looked at. */
  readonly bytesPerUrl: number
  readonly bytesPerUrlWhenFull: number
  readonly addsPerSecond: number
  readonly knownPerSecond: number
  readonly unknownPerSecond: number
  readonly longestAddMs: number
  /** Share of new URLs that were taken for known while it was filled, and of those asked for when it was full. */
  readonly lostShare: number
  readonly falseShare: number
}

const blockSize = 100_000
const smallBlockSize = 1_000
const sampleSize = 400_000
const hosts = 1_000

interface Block {
  readonly fingerprints: readonly string[]
  readonly urls: readonly string[]
}

const input = receiveInput<KindInput>()
const settings: Pick<DupeFilterOptions, 'kind'> & Partial<DupeFilterOptions> = dupeFilterCases[input.name]
// First, while the heap holds next to nothing else: what the bench itself keeps would make pauses of garbage collection.
const longestAddMs = findLongestAdd()
await sendReport({ ...measure(), longestAddMs } satisfies KindReport)
process.exit()

function measure(): Omit<KindReport, 'longestAddMs'> {
  const { filter, commit } = open('rates.db')
  const isSampled = samples()
  const sample: Block[] = []
  let adding = 0
  let added = 0
  let bytesPerUrl = 0
  for (let start = 0; start < input.entries; start += blockSize) {
    const block = makeBlock(start, Math.min(blockSize, input.entries - start))
    const from = cpuMs()
    added += addAll(filter, block)
    commit(block.fingerprints)
    adding += cpuMs() - from
    if (isSampled(start)) sample.push(block)
    bytesPerUrl = Math.max(bytesPerUrl, filter.bytes / (start + block.urls.length))
  }
  const known = lookUp(filter, sample)
  const unknown = lookUp(filter, blocksFrom(input.entries * 2))
  if (known.share !== 1) throw new Error(`${input.name}: ${known.share * 100} % of the known URLs are known`)
  return {
    bytesPerUrl,
    bytesPerUrlWhenFull: filter.bytes / input.entries,
    addsPerSecond: (input.entries / adding) * 1_000,
    knownPerSecond: known.perSecond,
    unknownPerSecond: unknown.perSecond,
    lostShare: 1 - added / input.entries,
    falseShare: unknown.share,
  }
}

/**
 * In a run of its own, since reading the clocks for each costs more than most adds; in small blocks, so that the garbage of
 * the bench itself makes no pause. An add has taken no more than what passed, and no more than what all threads used.
 */
function findLongestAdd(): number {
  const { filter, commit } = open('pauses.db')
  let longest = 0
  for (let start = 0; start < input.entries; start += smallBlockSize) {
    const { fingerprints, urls } = makeBlock(start, Math.min(smallBlockSize, input.entries - start))
    for (let index = 0; index < fingerprints.length; index += 1) {
      const fromCpu = cpuMs()
      const from = performance.now()
      filter.add(fingerprints[index] as string, urls[index] as string)
      const passed = performance.now() - from
      // The first adds are compiled.
      if (start >= blockSize && passed > longest) longest = Math.max(longest, Math.min(passed, cpuMs() - fromCpu))
    }
    commit(fingerprints)
  }
  return longest
}

function open(file: string): { readonly filter: OpenedDupeFilter; readonly commit: (fingerprints: readonly string[]) => void } {
  const defaults = { bits: 64, capacity: input.entries, errorRate: 0.001, per: 'job', ttlMs: 0, onGrown: () => {} } as const
  const options: DupeFilterOptions = { ...defaults, ...settings }
  if (options.kind !== 'disk') return { filter: openDupeFilter(options), commit: () => {} }
  const database = new Database(join(input.folder, file))
  database.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -64000')
  database.exec('create table seen (n integer primary key, high integer not null, low integer not null)')
  database.exec('create index seen_fingerprint on seen (high, low)')
  const insert = database.prepare('insert into seen (high, low) values (?, ?)')
  const select = database.prepare('select 1 from seen where high = ? and low = ?')
  const lookup = (fingerprint: string): boolean => select.get(...fingerprintParts(fingerprint)) !== undefined
  const filter = openDupeFilter({ ...options, lookup })
  const commit = database.transaction((fingerprints: readonly string[]) => {
    for (const fingerprint of fingerprints) {
      insert.run(...fingerprintParts(fingerprint))
      filter.written(fingerprint)
    }
  })
  return { filter, commit }
}

function addAll(filter: OpenedDupeFilter, { fingerprints, urls }: Block): number {
  let added = 0
  for (let index = 0; index < fingerprints.length; index += 1) {
    if (filter.add(fingerprints[index] as string, urls[index] as string)) added += 1
  }
  return added
}

/** The first look-ups warm the compiler up, and aren't measured. */
function lookUp(filter: OpenedDupeFilter, blocks: readonly Block[]): { readonly perSecond: number; readonly share: number } {
  let found = 0
  let asked = 0
  let spent = 0
  for (const [number, { fingerprints, urls }] of [...blocks.slice(0, 1), ...blocks].entries()) {
    const from = cpuMs()
    let foundHere = 0
    for (let index = 0; index < fingerprints.length; index += 1) {
      if (filter.has(fingerprints[index] as string, urls[index] as string)) foundHere += 1
    }
    if (number === 0) continue
    spent += cpuMs() - from
    found += foundHere
    asked += fingerprints.length
  }
  return { perSecond: (asked / spent) * 1_000, share: found / asked }
}

/** Which blocks are looked up again: some, evenly from all, so that strings don't fill the memory. */
function samples(): (start: number) => boolean {
  const every = Math.max(1, Math.floor(input.entries / sampleSize))
  return (start) => (start / blockSize) % every === 0
}

function blocksFrom(start: number): Block[] {
  return Array.from({ length: sampleSize / blockSize }, (_, index) => makeBlock(start + index * blockSize, blockSize))
}

function makeBlock(start: number, count: number): Block {
  const numbers = Array.from({ length: count }, (_, index) => start + index)
  const urls = numbers.map((number) => `https://host-${number % hosts}.example/page/${number}`)
  return { urls, fingerprints: urls.map((url) => fingerprintOfUrl(url, 'GET', { bits: settings.bits ?? 64 })) }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
