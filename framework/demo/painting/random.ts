/** A stream of numbers that `seed` alone decides: 0 included, 1 excluded (mulberry32). */
export type Random = () => number

export function createRandom(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b9) >>> 0
  return function random() {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function between(random: Random, min: number, max: number): number {
  return min + (max - min) * random()
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[Math.floor(random() * choices.length)] as T
}

/** The same values in another order (Fisher and Yates). */
export function shuffle<T>(random: Random, values: readonly T[]): T[] {
  const shuffled = [...values]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T]
  }
  return shuffled
}
