/** Unsigned 32-bit integers, the same for the same seed: sfc32 of Chris Doty-Humphrey's PractRand. */
export function randomWords(seed: number): () => number {
  let a = seed | 0
  let b = 0x9e3779b9
  let c = 0x243f6a88
  let counter = 1
  const next = (): number => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return sum >>> 0
  }
  for (let round = 0; round < 20; round += 1) next()
  return next
}

/** So many different fingerprints, the same for the same seed. */
export function makeFingerprints(seed: number, count: number, digits: 16 | 32 = 16): string[] {
  const next = randomWords(seed)
  const half = (): string => toHex(next()) + toHex(next())
  return Array.from({ length: count }, () => (digits === 16 ? half() : half() + half()))
}

function toHex(word: number): string {
  return word.toString(16).padStart(8, '0')
}
