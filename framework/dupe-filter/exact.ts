import { checkDigits, wordAt, type FingerprintBits, type LoadableDupeFilter } from './fingerprint-parts.ts'
import { grownPlaces, maxLoad, placeOf } from './open-addressing.ts'

export interface ExactDupeFilterOptions {
  /** Default 64. */
  readonly bits?: FingerprintBits
}

const tables = 256
const initialPlaces = 32

/**
 * Every fingerprint, in typed arrays: 10.7 to 16 bytes each at 64 bits and 21.4 to 32 at 128, from 100,000 on, and no limit
 * of 16.7 million as a `Set` has. Open addressing with linear probing in 256 tables by the first byte, each of which grows
 * alone, so that no pause is long and the whole is never held twice.
 *
 * Two of n URLs share a fingerprint of b bits with a probability of about n² / 2^(b+1): at 64 bits 3 in a million for ten
 * million URLs.
 */
export class ExactDupeFilter implements LoadableDupeFilter {
  readonly #bits: FingerprintBits
  /** 32-bit integers of an entry, signed: V8 keeps others in objects now and then. An entry of zeros is a free place. */
  readonly #words: 2 | 4
  readonly #tables: Int32Array[]
  readonly #sizes = new Uint32Array(tables)
  #hasZero = false
  #size = 0
  #bytes: number

  constructor(options: ExactDupeFilterOptions = {}) {
    this.#bits = options.bits ?? 64
    const words = this.#bits === 64 ? 2 : 4
    this.#words = words
    this.#tables = Array.from({ length: tables }, () => new Int32Array(initialPlaces * words))
    this.#bytes = tables * initialPlaces * words * 4
  }

  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#bytes
  }

  has(fingerprint: string): boolean {
    checkDigits(fingerprint, this.#bits)
    const high = wordAt(fingerprint, 0)
    const low = wordAt(fingerprint, 8)
    if (this.#words === 2) return this.#hasParts(high, low, 0, 0)
    return this.#hasParts(high, low, wordAt(fingerprint, 16), wordAt(fingerprint, 24))
  }

  add(fingerprint: string): boolean {
    checkDigits(fingerprint, this.#bits)
    const high = wordAt(fingerprint, 0)
    const low = wordAt(fingerprint, 8)
    if (this.#words === 2) return this.addParts(high, low, 0, 0)
    return this.addParts(high, low, wordAt(fingerprint, 16), wordAt(fingerprint, 24))
  }

  addParts(high: number, low: number, high2: number, low2: number): boolean {
    const isNew = this.#words === 2 ? this.#add64(high | 0, low | 0) : this.#add128(high | 0, low | 0, high2 | 0, low2 | 0)
    if (isNew) this.#size += 1
    return isNew
  }

  #hasParts(high: number, low: number, high2: number, low2: number): boolean {
    const table = this.#tables[high >>> 24] as Int32Array
    if (this.#words === 2) {
      if (high === 0 && low === 0) return this.#hasZero
      return !isFree64(table, find64(table, high, low))
    }
    if (high === 0 && low === 0 && high2 === 0 && low2 === 0) return this.#hasZero
    return !isFree128(table, find128(table, high, low, high2, low2))
  }

  #add64(high: number, low: number): boolean {
    if (high === 0 && low === 0) return this.#addZero()
    let table = this.#tables[high >>> 24] as Int32Array
    let at = find64(table, high, low)
    if (!isFree64(table, at)) return false
    if (this.#takePlace(high >>> 24)) {
      table = this.#tables[high >>> 24] as Int32Array
      at = find64(table, high, low)
    }
    table[at] = high
    table[at + 1] = low
    return true
  }

  #add128(high: number, low: number, high2: number, low2: number): boolean {
    if (high === 0 && low === 0 && high2 === 0 && low2 === 0) return this.#addZero()
    let table = this.#tables[high >>> 24] as Int32Array
    let at = find128(table, high, low, high2, low2)
    if (!isFree128(table, at)) return false
    if (this.#takePlace(high >>> 24)) {
      table = this.#tables[high >>> 24] as Int32Array
      at = find128(table, high, low, high2, low2)
    }
    table[at] = high
    table[at + 1] = low
    table[at + 2] = high2
    table[at + 3] = low2
    return true
  }

  #addZero(): boolean {
    if (this.#hasZero) return false
    this.#hasZero = true
    return true
  }

  /** Counts one more entry in the table, and answers whether it was moved to a larger one for it. */
  #takePlace(index: number): boolean {
    const size = (this.#sizes[index] as number) + 1
    this.#sizes[index] = size
    const old = this.#tables[index] as Int32Array
    const places = old.length / this.#words
    if (size <= places * maxLoad) return false
    const table = new Int32Array(grownPlaces(places) * this.#words)
    if (this.#words === 2) copy64(old, table)
    else copy128(old, table)
    this.#tables[index] = table
    this.#bytes += table.byteLength - old.byteLength
    return true
  }
}

/** Mixes both words into the high bits, which `placeOf` reads, though fingerprints are hashes: a custom one may not be. */
function hash(high: number, low: number): number {
  return Math.imul(Math.imul(high, 0x85ebca6b) + low, 0x9e3779b1)
}

/** Index of the entry, or of the free place where it belongs. */
function find64(table: Int32Array, high: number, low: number): number {
  const end = table.length
  let at = placeOf(hash(high, low), end >>> 1) << 1
  for (;;) {
    const foundHigh = table[at]
    const foundLow = table[at + 1]
    if ((foundHigh === high && foundLow === low) || (foundHigh === 0 && foundLow === 0)) return at
    at += 2
    if (at === end) at = 0
  }
}

function find128(table: Int32Array, high: number, low: number, high2: number, low2: number): number {
  const end = table.length
  let at = placeOf(hash(high ^ high2, low ^ low2), end >>> 2) << 2
  for (;;) {
    if (table[at] === high && table[at + 1] === low && table[at + 2] === high2 && table[at + 3] === low2) return at
    if (isFree128(table, at)) return at
    at += 4
    if (at === end) at = 0
  }
}

function isFree64(table: Int32Array, at: number): boolean {
  return table[at] === 0 && table[at + 1] === 0
}

function isFree128(table: Int32Array, at: number): boolean {
  return table[at] === 0 && table[at + 1] === 0 && table[at + 2] === 0 && table[at + 3] === 0
}

function copy64(from: Int32Array, to: Int32Array): void {
  for (let index = 0; index < from.length; index += 2) {
    if (isFree64(from, index)) continue
    const high = from[index] as number
    const low = from[index + 1] as number
    const at = find64(to, high, low)
    to[at] = high
    to[at + 1] = low
  }
}

function copy128(from: Int32Array, to: Int32Array): void {
  for (let index = 0; index < from.length; index += 4) {
    if (isFree128(from, index)) continue
    const high = from[index] as number
    const low = from[index + 1] as number
    const high2 = from[index + 2] as number
    const low2 = from[index + 3] as number
    const at = find128(to, high, low, high2, low2)
    to[at] = high
    to[at + 1] = low
    to[at + 2] = high2
    to[at + 3] = low2
  }
}
