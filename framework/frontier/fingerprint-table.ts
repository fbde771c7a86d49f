const tables = 256
const initialSlots = 64

/**
 * A set of 64-bit fingerprints in typed arrays: 13 to 20 bytes each, and no limit of 16.7 million entries as a `Set` has.
 * Open addressing with linear probing in 256 sub-tables, each of which grows alone, so that no pause is long.
 */
export class FingerprintTable {
  readonly #entries: Uint32Array[] = Array.from({ length: tables }, () => new Uint32Array(initialSlots * 2))
  readonly #sizes = new Uint32Array(tables)
  #hasZero = false
  #size = 0

  get size(): number {
    return this.#size
  }

  /** @param high @param low the two halves of the fingerprint, each an unsigned 32-bit integer. */
  has(high: number, low: number): boolean {
    if (high === 0 && low === 0) return this.#hasZero
    const entries = this.#entries[high >>> 24] as Uint32Array
    const at = find(entries, high, low)
    return entries[at] !== 0 || entries[at + 1] !== 0
  }

  /** Answers whether it was new. */
  add(high: number, low: number): boolean {
    if (high === 0 && low === 0) {
      if (this.#hasZero) return false
      this.#hasZero = true
      this.#size++
      return true
    }
    const table = high >>> 24
    let entries = this.#entries[table] as Uint32Array
    let at = find(entries, high, low)
    if (entries[at] !== 0 || entries[at + 1] !== 0) return false
    const size = (this.#sizes[table] as number) + 1
    if (size * 2 > entries.length * 0.75) {
      entries = grow(entries)
      this.#entries[table] = entries
      at = find(entries, high, low)
    }
    entries[at] = high
    entries[at + 1] = low
    this.#sizes[table] = size
    this.#size++
    return true
  }
}

/** Index of the entry, or of the empty place where it belongs. */
function find(entries: Uint32Array, high: number, low: number): number {
  const mask = entries.length - 2
  let at = (Math.imul(low ^ high, 0x9e3779b1) >>> 7 << 1) & mask
  for (;;) {
    const foundHigh = entries[at]
    const foundLow = entries[at + 1]
    if ((foundHigh === high && foundLow === low) || (foundHigh === 0 && foundLow === 0)) return at
    at = (at + 2) & mask
  }
}

function grow(entries: Uint32Array): Uint32Array {
  const larger = new Uint32Array(entries.length * 2)
  for (let index = 0; index < entries.length; index += 2) {
    const high = entries[index] as number
    const low = entries[index + 1] as number
    if (high === 0 && low === 0) continue
    const at = find(larger, high, low)
    larger[at] = high
    larger[at + 1] = low
  }
  return larger
}

/** 32 bits of each of the two hashes that a fingerprint is made of, so that a collision of one alone is none. */
export function halves(fingerprint: string): [high: number, low: number] {
  return [parseInt(fingerprint.slice(0, 8), 16), parseInt(fingerprint.slice(16, 24), 16)]
}
