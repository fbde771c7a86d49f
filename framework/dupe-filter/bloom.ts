import { checkDigits, wordAt, type LoadableDupeFilter } from './fingerprint-parts.ts'

export interface BloomDupeFilterOptions {
  /** How many URLs the settings promise room for. More make it grow at the same error rate, and `onGrown` is called. */
  readonly capacity: number
  /** Share of new URLs, between 0 and 1, that are taken for known: at most so many, whatever the size. */
  readonly errorRate: number
  /** URLs that the first layer is made for. Default: `capacity`. */
  readonly firstCapacity?: number
  /** Called once, when more than `capacity` URLs have been added. */
  readonly onGrown?: (() => void) | undefined
}

/** A layer is one array of 32-bit words, and a position in it a 32-bit hash: 512 MiB. */
const maxLayerBits = 2 ** 32

/**
 * Bytes of a plain Bloom filter that takes `errorRate` of new URLs for known once it holds `capacity`: -ln p / (ln 2)^2 bits
 * a URL (Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970; Mitzenmacher and Upfal, Probability and
 * Computing, 5.5.3). 10 million URLs: 18.0 MB at 0.1 %, 12.0 MB at 1 %, 24.0 MB at 0.01 %. The first layer of a
 * `BloomDupeFilter` is made for half the rate: 1.44 bits a URL more, which is 15.8 instead of 14.4 at 0.1 %, and 19.8 MB.
 */
export function bloomBytes(capacity: number, errorRate: number): number {
  return Math.ceil((capacity * bitsPerUrl(errorRate)) / 8)
}

function bitsPerUrl(errorRate: number): number {
  return -Math.log(errorRate) / Math.LN2 ** 2
}

/**
 * A scalable Bloom filter: it never takes a known URL for new, and at most `errorRate` of new ones for known, whatever the
 * size. The first layer is made for half the rate, and each further one for half the rate of the one before and twice its
 * URLs, so that the rates of all add up to less than `errorRate` (Almeida, Baquero, Preguiça, Hutchison, "Scalable Bloom
 * Filters", 2007). While the first layer is filled the mean rate is about an eighth of that at its end.
 *
 * `high` and `low` of a fingerprint count, at 128 bits too.
 */
export class BloomDupeFilter implements LoadableDupeFilter {
  readonly #options: BloomDupeFilterOptions
  readonly #layers: BloomLayer[] = []
  #newest: BloomLayer
  #size = 0

  constructor(options: BloomDupeFilterOptions) {
    this.#options = options
    this.#newest = this.#addLayer(options.firstCapacity ?? options.capacity)
  }

  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#layers.reduce((sum, layer) => sum + layer.bytes, 0)
  }

  has(fingerprint: string): boolean {
    checkDigits(fingerprint, 64)
    return this.#hasParts(wordAt(fingerprint, 0), wordAt(fingerprint, 8))
  }

  add(fingerprint: string): boolean {
    checkDigits(fingerprint, 64)
    return this.addParts(wordAt(fingerprint, 0), wordAt(fingerprint, 8))
  }

  addParts(high: number, low: number): boolean {
    if (this.#hasParts(high, low)) return false
    if (this.#newest.size >= this.#newest.capacity) this.#newest = this.#addLayer(this.#newest.capacity * 2)
    this.#newest.add(high, low)
    this.#size += 1
    if (this.#size === this.#options.capacity + 1) this.#options.onGrown?.()
    return true
  }

  #hasParts(high: number, low: number): boolean {
    // The newest holds the most.
    for (let index = this.#layers.length - 1; index >= 0; index -= 1) {
      if ((this.#layers[index] as BloomLayer).has(high, low)) return true
    }
    return false
  }

  #addLayer(capacity: number): BloomLayer {
    const errorRate = this.#options.errorRate / 2 ** (this.#layers.length + 1)
    const layer = new BloomLayer(capacity, errorRate)
    this.#layers.push(layer)
    return layer
  }
}

/** A Bloom filter of a fixed size. */
class BloomLayer {
  /** URLs until the error rate is reached: fewer than were asked for when they would need more than 2^32 bits. */
  readonly capacity: number
  readonly #bits: number
  readonly #probes: number
  readonly #words: Uint32Array
  size = 0

  constructor(capacity: number, errorRate: number) {
    this.#bits = Math.min(Math.ceil((capacity * bitsPerUrl(errorRate)) / 32) * 32, maxLayerBits)
    this.capacity = Math.min(capacity, Math.floor(this.#bits / bitsPerUrl(errorRate)))
    this.#probes = Math.max(1, Math.round(-Math.log2(errorRate)))
    this.#words = new Uint32Array(this.#bits / 32)
  }

  get bytes(): number {
    return this.#words.byteLength
  }

  has(high: number, low: number): boolean {
    const step = low | 1
    let hash = high
    for (let probe = this.#probes; probe > 0; probe -= 1) {
      const position = positionOf(hash, this.#bits)
      if (((this.#words[position >>> 5] as number) & (1 << position)) === 0) return false
      hash = (hash + step) | 0
    }
    return true
  }

  add(high: number, low: number): void {
    const step = low | 1
    let hash = high
    for (let probe = this.#probes; probe > 0; probe -= 1) {
      const position = positionOf(hash, this.#bits)
      const word = position >>> 5
      this.#words[word] = (this.#words[word] as number) | (1 << position)
      hash = (hash + step) | 0
    }
    this.size += 1
  }
}

/**
 * A bit of `bits` for one of the hashes `high + i * step`, from which all probes are derived (Kirsch and Mitzenmacher, "Less
 * Hashing, Same Performance", 2006). They are mixed first (the 32-bit finalizer of MurmurHash3), since in a small layer too
 * many URLs would share a first position and a step; an odd step never stands still.
 */
function positionOf(hash: number, bits: number): number {
  let mixed = hash ^ (hash >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  mixed ^= mixed >>> 16
  return ((mixed >>> 0) * 2 ** -32 * bits) >>> 0
}
