/** Numbers that are the same for one seed. */
export interface Random {
  /** From 0 up to `limit`, which it does not reach; whole when `limit` is. */
  below(limit: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  pick<T>(choices: readonly [T, ...T[]]): T
}

/** mulberry32 of Tommy Ettinger: 32 bits of state are enough to choose moments. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    below: (limit) => (Number.isInteger(limit) ? Math.floor(next() * limit) : next() * limit),
    chance: (probability) => next() < probability,
    pick: (choices) => choices[Math.floor(next() * choices.length)] ?? choices[0],
  }
}
