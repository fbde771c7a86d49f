import { checkDigits, wordAt, type FingerprintBits, type LoadableDupeFilter } from './fingerprint-parts.ts'
import { grownPlaces } from './open-addressing.ts'

export interface ExactDupeFilterOptions {
  /** Default 64. */
  readonly bits?: FingerprintBits
}

/**
 * A page is split when so many of its places are taken, and is half as full then. So an entry costs 1.22 to 2.44 times its
 * own size, and a look-up of what is missing compares 2 to 16 entries that lie side by side (Knuth, The Art of Computer
 * Programming 3, 6.4, algorithm L).
 */
const maxLoad = 0.82
const firstWords = 512
/**
 * 512 KiB: larger ones take longer to split, about a millisecond; smaller ones are slower to look up in, since more of them
 * compete for the processor's cache.
 */
const pageWords = 2 ** 17
/** A page begins with the number of its entries and with its depth: how many bits all their hashes share. */
const header = 4
/** Fingerprints that are no hashes could make the directory long for few pages. It isn't doubled beyond this. */
const maxDirectoryPerPage = 8
/**
 * What was in a page that is being split. One for all filters, since nothing is kept in it when an add returns; a new one
 * each time would be garbage, and V8 collects its whole heap for some tens of megabytes of it.
 */
const split = new Int32Array(header + pageWords)

/**
 * Every fingerprint, in typed arrays: 10 to 19.5 bytes each at 64 bits and 20 to 39 at 128, from 100,000 on, and no limit of
 * 16.7 million as a `Set` has. Extendible hashing (Fagin, Nievergelt, Pippenger, Strong, "Extendible hashing - a fast access
 * method for dynamic files", 1979): a directory tells by the first bits of the hash which page an entry is in, a page is a
 * table of open addressing with linear probing, and one that is full is split by the next bit. So an add moves one page at
 * the most, and no page is ever freed. The first is small and grows by half until it is as large as the others will be.
 *
 * Two of n URLs share a fingerprint of b bits with a probability of about n² / 2^(b+1): at 64 bits 3 in a million for ten
 * million URLs.
 */
export class ExactDupeFilter implements LoadableDupeFilter {
  readonly #bits: FingerprintBits
  /** 32-bit integers of an entry, signed: V8 keeps others in objects now and then. An entry of zeros is a free place. */
  readonly #words: 2 | 4
  /** By the first bits of the hash. Pages of less depth are in it several times, side by side. */
  #directory: Int32Array[] = [makePage(firstWords, 0)]
  /** Bits of a hash, but for one, that don't choose the page. One less, since JavaScript can't shift by 32. */
  #shift = 31
  #pages = 1
  #pageBytes: number
  #hasZero = false
  #size = 0

  constructor(options: ExactDupeFilterOptions = {}) {
    this.#bits = options.bits ?? 64
    this.#words = this.#bits === 64 ? 2 : 4
    this.#pageBytes = this.#pageOf(0).byteLength
  }

  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#pageBytes + this.#directory.length * 8
  }

  has(fingerprint: string): boolean {
    checkDigits(fingerprint, this.#bits)
    const high = wordAt(fingerprint, 0)
    const low = wordAt(fingerprint, 8)
    if (this.#words === 2) return this.#has64(high, low)
    return this.#has128(high, low, wordAt(fingerprint, 16), wordAt(fingerprint, 24))
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

  #has64(high: number, low: number): boolean {
    if (high === 0 && low === 0) return this.#hasZero
    const hash = hashOf(high, low)
    const page = this.#pageOf(hash)
    return !isFree64(page, find64(page, hash, high, low))
  }

  #has128(high: number, low: number, high2: number, low2: number): boolean {
    if (high === 0 && low === 0 && high2 === 0 && low2 === 0) return this.#hasZero
    const hash = hashOf(high ^ high2, low ^ low2)
    const page = this.#pageOf(hash)
    return !isFree128(page, find128(page, hash, high, low, high2, low2))
  }

  #add64(high: number, low: number): boolean {
    if (high === 0 && low === 0) return this.#addZero()
    const hash = hashOf(high, low)
    const page = this.#pageOf(hash)
    const at = find64(page, hash, high, low)
    if (!isFree64(page, at)) return false
    if (isFull(page, 2)) {
      this.#makeRoom(hash)
      return this.#add64(high, low)
    }
    put64(page, at, high, low)
    return true
  }

  #add128(high: number, low: number, high2: number, low2: number): boolean {
    if (high === 0 && low === 0 && high2 === 0 && low2 === 0) return this.#addZero()
    const hash = hashOf(high ^ high2, low ^ low2)
    const page = this.#pageOf(hash)
    const at = find128(page, hash, high, low, high2, low2)
    if (!isFree128(page, at)) return false
    if (isFull(page, 4)) {
      this.#makeRoom(hash)
      return this.#add128(high, low, high2, low2)
    }
    put128(page, at, high, low, high2, low2)
    return true
  }

  #addZero(): boolean {
    if (this.#hasZero) return false
    this.#hasZero = true
    return true
  }

  #pageOf(hash: number): Int32Array {
    return this.#directory[(hash >>> 1) >>> this.#shift] as Int32Array
  }

  /** Splits the page of the hash, or makes it larger when it is the first one or the directory would be too long. */
  #makeRoom(hash: number): void {
    const page = this.#pageOf(hash)
    const depth = page[1] as number
    const needsDouble = this.#directory.length === 2 ** depth
    const mayDouble = this.#directory.length < this.#pages * maxDirectoryPerPage
    const isWhole = page.length === split.length
    const splits = isWhole && (mayDouble || !needsDouble)
    if (splits && needsDouble) {
      this.#directory = this.#directory.flatMap((one) => [one, one])
      this.#shift -= 1
    }
    const index = (hash >>> 1) >>> this.#shift
    const span = this.#directory.length / 2 ** depth
    const first = index - (index % span)
    if (splits) {
      const made = makePage(pageWords, depth + 1)
      this.#directory.fill(made, first + span / 2, first + span)
      this.#pages += 1
      this.#pageBytes += made.byteLength
      split.set(page)
      page.fill(0)
      page[1] = depth + 1
      this.#move(split)
      return
    }
    const words = page.length - header
    const grown = grownPlaces(words / this.#words) * this.#words
    const made = makePage(words < pageWords ? Math.min(grown, pageWords) : grown, depth)
    this.#directory.fill(made, first, first + span)
    this.#pageBytes += made.byteLength - page.byteLength
    this.#move(page)
  }

  /** Puts all entries of a page, or of what it was, where they belong now. */
  #move(from: Int32Array): void {
    for (let index = header; index < from.length; index += this.#words) {
      const high = from[index] as number
      const low = from[index + 1] as number
      if (this.#words === 2) {
        if (high === 0 && low === 0) continue
        const hash = hashOf(high, low)
        const page = this.#pageOf(hash)
        put64(page, find64(page, hash, high, low), high, low)
      } else if (!isFree128(from, index)) {
        const high2 = from[index + 2] as number
        const low2 = from[index + 3] as number
        const hash = hashOf(high ^ high2, low ^ low2)
        const page = this.#pageOf(hash)
        put128(page, find128(page, hash, high, low, high2, low2), high, low, high2, low2)
      }
    }
  }
}

function makePage(words: number, depth: number): Int32Array {
  const page = new Int32Array(header + words)
  page[1] = depth
  return page
}

function isFull(page: Int32Array, words: number): boolean {
  return ((page[0] as number) + 1) * words > (page.length - header) * maxLoad
}

/**
 * Mixes both words into the high bits, which choose the page, and those into the low 16 bits, which choose the place, though
 * fingerprints are hashes: a custom one may not be.
 */
function hashOf(high: number, low: number): number {
  const mixed = Math.imul(Math.imul(high, 0x85ebca6b) + low, 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}

/** The place where the search begins, of any number of places: the low 16 bits of the hash as a fraction of all. */
function placeIn(places: number, hash: number): number {
  return ((hash & 0xffff) * (places / 2 ** 16)) | 0
}

/** Index of the entry, or of the free place where it belongs. */
function find64(page: Int32Array, hash: number, high: number, low: number): number {
  const end = page.length
  let at = header + (placeIn((end - header) >>> 1, hash) << 1)
  for (;;) {
    const foundHigh = page[at]
    const foundLow = page[at + 1]
    if ((foundHigh === high && foundLow === low) || (foundHigh === 0 && foundLow === 0)) return at
    at += 2
    if (at === end) at = header
  }
}

function find128(page: Int32Array, hash: number, high: number, low: number, high2: number, low2: number): number {
  const end = page.length
  let at = header + (placeIn((end - header) >>> 2, hash) << 2)
  for (;;) {
    if (page[at] === high && page[at + 1] === low && page[at + 2] === high2 && page[at + 3] === low2) return at
    if (isFree128(page, at)) return at
    at += 4
    if (at === end) at = header
  }
}

function isFree64(page: Int32Array, at: number): boolean {
  return page[at] === 0 && page[at + 1] === 0
}

function isFree128(page: Int32Array, at: number): boolean {
  return page[at] === 0 && page[at + 1] === 0 && page[at + 2] === 0 && page[at + 3] === 0
}

function put64(page: Int32Array, at: number, high: number, low: number): void {
  page[at] = high
  page[at + 1] = low
  page[0] = (page[0] as number) + 1
}

function put128(page: Int32Array, at: number, high: number, low: number, high2: number, low2: number): void {
  put64(page, at, high, low)
  page[at + 2] = high2
  page[at + 3] = low2
}
