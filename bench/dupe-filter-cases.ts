import type { DupeFilterOptions } from '../framework/dupe-filter/open.ts'

/** What the bench measures, each with room for as many URLs as are added and at an error rate of 0.1 %. */
export const dupeFilterCases = {
  'memory, 64 bits': { kind: 'memory' },
  'memory, 128 bits': { kind: 'memory', bits: 128 },
  'memory, 64 bits, ttl': { kind: 'memory', ttlMs: 86_400_000 },
  bloom: { kind: 'bloom' },
  'bloom by host': { kind: 'bloom', per: 'host' },
  'lossy-hyperloglog': { kind: 'lossy-hyperloglog' },
  disk: { kind: 'disk' },
} as const satisfies Record<string, Partial<DupeFilterOptions>>

export type DupeFilterCase = keyof typeof dupeFilterCases

/** What the documentation promises of each. Undefined: nothing. */
export interface DupeFilterPromise {
  /** At most. */
  readonly bytesPerUrl?: number
  /** At least: look-ups a second, of known URLs and of unknown ones. */
  readonly lookupsPerSecond?: number
  /** At most: the longest single add. */
  readonly longestAddMs?: number
  /** At most: new URLs taken for known, while it is filled and when it is full. */
  readonly lostShare: number
  readonly falseShare: number
}

const exact = { longestAddMs: 10, lostShare: 0, falseShare: 0 }
const bloom = { longestAddMs: 10, lostShare: 0.001, falseShare: 0.001 }

export const dupeFilterPromises: Record<DupeFilterCase, DupeFilterPromise> = {
  'memory, 64 bits': { ...exact, bytesPerUrl: 20, lookupsPerSecond: 3_000_000 },
  'memory, 128 bits': { ...exact, bytesPerUrl: 40 },
  'memory, 64 bits, ttl': exact,
  bloom,
  'bloom by host': bloom,
  'lossy-hyperloglog': { longestAddMs: 10, bytesPerUrl: 8, lostShare: 0.003, falseShare: 0.006 },
  disk: { lostShare: 0, falseShare: 0 },
}
