/**
 * A table grows by half when three quarters of its places are taken: then half of them are, at the least. So an entry costs
 * 1.34 to 2 times its own size, and a look-up of what is missing compares 2.5 to 8.5 entries that lie side by side (Knuth,
 * The Art of Computer Programming 3, 6.4, algorithm L). Twice as large at each step would cost up to 2.7 times.
 */
export const maxLoad = 0.75
const growth = 1.5

/** How many places a table of `places` has after it has grown. */
export function grownPlaces(places: number): number {
  return Math.ceil(places * growth)
}

/**
 * The place where the search for a hash begins, of any number of places: the hash as a fraction of all (Lemire, "Fast random
 * integer generation in an interval", 2019). It keeps the order of hashes, so that growing reads and writes in sequence.
 * @param hash a 32-bit integer, taken as unsigned.
 */
export function placeOf(hash: number, places: number): number {
  return ((hash >>> 0) * 2 ** -32 * places) | 0
}
