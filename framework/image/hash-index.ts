import type { SimilarImage } from '../item.ts'
import { bitCount } from './hashes.ts'

/**
 * Finds the nearest of many 64-bit hashes, exactly, by comparing with all of them: 16 bytes a hash, about 5 ms for a million.
 */
export class HashIndex {
  #high = new Uint32Array(1024)
  #low = new Uint32Array(1024)
  #ids = new Float64Array(1024)
  #size = 0

  /** @param hash 16 hexadecimal digits. An id must not be added twice. */
  add(id: number, hash: string): void {
    if (this.#size === this.#ids.length) this.#grow()
    this.#high[this.#size] = Number.parseInt(hash.slice(0, 8), 16)
    this.#low[this.#size] = Number.parseInt(hash.slice(8), 16)
    this.#ids[this.#size++] = id
  }

  has(id: number): boolean {
    return this.#placeOf(id) !== -1
  }

  /** What isn't there is no error. */
  delete(id: number): void {
    const place = this.#placeOf(id)
    if (place === -1) return
    const last = --this.#size
    this.#high[place] = this.#high[last]!
    this.#low[place] = this.#low[last]!
    this.#ids[place] = this.#ids[last]!
  }

  /** The nearest hash within `distance` bits; of equally near ones, the lowest id. */
  nearest(hash: string, distance: number): SimilarImage | undefined {
    const high = Number.parseInt(hash.slice(0, 8), 16)
    const low = Number.parseInt(hash.slice(8), 16)
    let best = distance + 1
    let bestId = Infinity
    for (let place = 0; place < this.#size; place++) {
      const bits = bitCount(this.#high[place]! ^ high) + bitCount(this.#low[place]! ^ low)
      if (bits < best || (bits === best && bits <= distance && this.#ids[place]! < bestId)) {
        best = bits
        bestId = this.#ids[place]!
      }
    }
    return best <= distance ? { id: bestId, distance: best } : undefined
  }

  #placeOf(id: number): number {
    return this.#ids.subarray(0, this.#size).indexOf(id)
  }

  #grow(): void {
    const grow = <A extends Uint32Array | Float64Array>(old: A, larger: A): A => {
      larger.set(old)
      return larger
    }
    this.#high = grow(this.#high, new Uint32Array(this.#high.length * 2))
    this.#low = grow(this.#low, new Uint32Array(this.#low.length * 2))
    this.#ids = grow(this.#ids, new Float64Array(this.#ids.length * 2))
  }
}
