import sharp from 'sharp'

export interface Hashes {
  readonly pHash: bigint
  readonly dHash: bigint
}

/** The two 64-bit hashes of a file, written apart from the ones of the crawler so that one is a check on the other. */
export async function hashFile(bytes: Buffer): Promise<Hashes> {
  const pixels = await sharp(bytes)
    .autoOrient()
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .resize(64, 64, { fit: 'fill', kernel: 'lanczos3' })
    .raw()
    .toBuffer()
  const luma = Float64Array.from({ length: 64 * 64 }, (_, index) =>
    0.299 * pixels[index * 3]! + 0.587 * pixels[index * 3 + 1]! + 0.114 * pixels[index * 3 + 2]!)
  return { pHash: pHash64(shrink(luma, 32, 32)), dHash: dHash64(shrink(luma, 9, 8)) }
}

export function distance(a: bigint, b: bigint): number {
  let different = a ^ b
  let bits = 0
  for (; different > 0n; different &= different - 1n) bits++
  return bits
}

/** Means over the areas of 64 × 64 points, which needn't be whole points. */
function shrink(points: Float64Array, columns: number, rows: number): Float64Array {
  const across = shares(columns)
  const down = shares(rows)
  return Float64Array.from({ length: columns * rows }, (_, index) => {
    let sum = 0
    for (const { at: y, share: tall } of down[Math.floor(index / columns)]!) {
      for (const { at: x, share: wide } of across[index % columns]!) sum += points[y * 64 + x]! * tall * wide
    }
    return sum
  })
}

function shares(parts: number): { at: number; share: number }[][] {
  const size = 64 / parts
  return Array.from({ length: parts }, (_, part) => {
    const covered = (at: number): number => Math.min(at + 1, (part + 1) * size) - Math.max(at, part * size)
    return [...Array(64).keys()].filter((at) => covered(at) > 1e-9).map((at) => ({ at, share: covered(at) / size }))
  })
}

const waves = Array.from({ length: 9 }, (_, k) =>
  Array.from({ length: 32 }, (_point, n) => Math.cos((Math.PI * k * (2 * n + 1)) / 64)))

/** Rows and columns 1 to 8 of the DCT, each above or below their median. */
function pHash64(points: Float64Array): bigint {
  const coefficients = Array.from({ length: 64 }, (_, index) => {
    const row = 1 + Math.floor(index / 8)
    const column = 1 + (index % 8)
    let sum = 0
    for (let y = 0; y < 32; y++) for (let x = 0; x < 32; x++) sum += points[y * 32 + x]! * waves[row]![y]! * waves[column]![x]!
    return sum
  })
  const sorted = [...coefficients].sort((a, b) => a - b)
  const median = (sorted[31]! + sorted[32]!) / 2
  return bitsOf(coefficients.map((value) => value > median))
}

/** Whether each of 8 rows of 9 gets lighter from point to point. */
function dHash64(points: Float64Array): bigint {
  return bitsOf(Array.from({ length: 64 }, (_, index) => {
    const at = Math.floor(index / 8) * 9 + (index % 8)
    return points[at + 1]! > points[at]!
  }))
}

const bitsOf = (bits: readonly boolean[]): bigint => BigInt(`0b${bits.map((bit) => (bit ? '1' : '0')).join('')}`)
