import { CrawlError } from '../errors.ts'
import type { DupeFilter } from './dupe-filter.ts'

/** How many bits of a fingerprint tell two requests apart. */
export type FingerprintBits = 64 | 128

/** A dupe filter that takes stored fingerprints as numbers: millions of them are given at the start. */
export interface LoadableDupeFilter extends DupeFilter {
  /**
   * As `add`.
   * @param host of the request's URL, as `hostOf` answers it; needed only by what keeps fingerprints by host.
   */
  addParts(high: number, low: number, high2: number, low2: number, host?: string): boolean
}

/**
 * A fingerprint as unsigned 32-bit integers, which is how it is stored: two of 16 digits, four of 32.
 * @throws CrawlError when it has another number of digits.
 */
export function fingerprintParts(fingerprint: string): readonly [high: number, low: number, high2?: number, low2?: number] {
  checkDigits(fingerprint, 64)
  const high = wordAt(fingerprint, 0) >>> 0
  const low = wordAt(fingerprint, 8) >>> 0
  return fingerprint.length === 16 ? [high, low] : [high, low, wordAt(fingerprint, 16) >>> 0, wordAt(fingerprint, 24) >>> 0]
}

/** @throws CrawlError when the number of digits isn't 16 or 32, or is 16 at 128 bits. */
export function checkDigits(fingerprint: string, bits: FingerprintBits): void {
  const digits = fingerprint.length
  if (digits === 32 || (digits === 16 && bits === 64)) return
  const wanted = bits === 64 ? '16 or 32' : '32'
  const found = `"${fingerprint.slice(0, 64)}" has ${digits} digits`
  throw new CrawlError('fingerprint', `${found}: a fingerprint of ${bits} bits needs ${wanted} hexadecimal ones.`)
}

/**
 * 8 hexadecimal digits from `at`, as a signed 32-bit integer: V8 keeps others in objects now and then. Four times as fast as
 * `parseInt` of a slice; nearly every link of a page comes here.
 */
export function wordAt(digits: string, at: number): number {
  return (
    (digitAt(digits, at) << 28) |
    (digitAt(digits, at + 1) << 24) |
    (digitAt(digits, at + 2) << 20) |
    (digitAt(digits, at + 3) << 16) |
    (digitAt(digits, at + 4) << 12) |
    (digitAt(digits, at + 5) << 8) |
    (digitAt(digits, at + 6) << 4) |
    digitAt(digits, at + 7)
  )
}

/** In ASCII the low four bits of 0 to 9 are the value, those of A to F and a to f nine less, and only letters have bit 6. */
function digitAt(digits: string, at: number): number {
  const code = digits.charCodeAt(at)
  return (code & 15) + (code >> 6) * 9
}
