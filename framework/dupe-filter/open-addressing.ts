const growth = 1.5

/**
 * How many places a table of `places` has after it has grown: half as many more, since twice as many at each step would leave
 * it emptier.
 */
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
