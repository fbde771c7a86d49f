import type { PerceptualHashes, Thumbnail } from '../item.ts'

const size = 64
const dctSize = 32
const rank = 8
/** Texture below which the bits of a hash are chance, picked on solids, gradients, near-blank pages, drawings and photographs. */
const minTexture = 20
/** Median strength of the compared frequencies, in grey levels, below which half of the bits of a pHash are rounding noise. */
const minStrength = 0.15
/** What rounding can make of two equal areas. */
const tolerance = 1e-6

const columnsOf9 = createAverages(9)
const rowsOf8 = createAverages(8)
const rowsOf32 = createAverages(dctSize)
const cosines = createCosines()

/**
 * Three 64-bit hashes of a picture, each as 16 hexadecimal digits, from one thumbnail:
 * aHash, 8 × 8 areas brighter than their mean; dHash, 8 rows of 9 areas brighter than their left neighbour;
 * pHash, the DCT of 32 × 32 areas, rows and columns 1 to 8, above their median (the constant row and column say
 * little of a picture and make strangers alike). `flat` marks pictures of which these bits say nothing.
 */
export function hashThumbnail({ rgb }: Thumbnail): PerceptualHashes {
  const luma = toLuma(rgb)
  const frequencies = transform(average(luma, rowsOf32, rowsOf32))
  return {
    aHash: aHash(average(luma, rowsOf8, rowsOf8)),
    dHash: dHash(average(luma, columnsOf9, rowsOf8)),
    pHash: toHex(frequencies, median(frequencies)),
    flat: texture(luma) < minTexture || median(frequencies.map(Math.abs)) < minStrength,
  }
}

/** How many bits of two hashes differ, 0 to 64. */
export function hammingDistance(a: string, b: string): number {
  return (
    bitCount(Number.parseInt(a.slice(0, 8), 16) ^ Number.parseInt(b.slice(0, 8), 16)) +
    bitCount(Number.parseInt(a.slice(8), 16) ^ Number.parseInt(b.slice(8), 16))
  )
}

/** How many bits of a 32-bit number are set. */
export function bitCount(bits: number): number {
  let count = bits - ((bits >>> 1) & 0x55555555)
  count = (count & 0x33333333) + ((count >>> 2) & 0x33333333)
  return Math.imul((count + (count >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** Brightness as ITU-R BT.601 weighs it, 0 to 255. */
function toLuma(rgb: Uint8Array): Float64Array {
  const luma = new Float64Array(size * size)
  for (let index = 0; index < luma.length; index++) {
    luma[index] = 0.299 * rgb[index * 3]! + 0.587 * rgb[index * 3 + 1]! + 0.114 * rgb[index * 3 + 2]!
  }
  return luma
}

function aHash(areas: Float64Array): string {
  return toHex(areas, areas.reduce((sum, value) => sum + value, 0) / areas.length)
}

function dHash(areas: Float64Array): string {
  const steps = new Float64Array(64)
  for (let row = 0; row < 8; row++) {
    for (let column = 0; column < 8; column++) steps[row * 8 + column] = areas[row * 9 + column + 1]! - areas[row * 9 + column]!
  }
  return toHex(steps, 0)
}

function toHex(values: Float64Array, threshold: number): string {
  let hex = ''
  for (let index = 0; index < 64; index += 4) {
    let digit = 0
    for (let bit = 0; bit < 4; bit++) digit = (digit << 1) | (values[index + bit]! > threshold + tolerance ? 1 : 0)
    hex += digit.toString(16)
  }
  return hex
}

function median(values: Float64Array): number {
  const sorted = values.toSorted()
  return (sorted[31]! + sorted[32]!) / 2
}

/** How much neighbours differ, in whole percents, summed: the quality of PDQ. 0 for a solid, over 100 for most photographs. */
function texture(luma: Float64Array): number {
  let sum = 0
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const value = luma[row * size + column]!
      if (column + 1 < size) sum += Math.trunc(Math.abs(luma[row * size + column + 1]! - value) / 2.55)
      if (row + 1 < size) sum += Math.trunc(Math.abs(luma[(row + 1) * size + column]! - value) / 2.55)
    }
  }
  return sum / 90
}

/** Coefficients of rows and columns 1 to 8 of a DCT-II, in grey levels. */
function transform(areas: Float64Array): Float64Array {
  const half = new Float64Array(rank * dctSize)
  for (let vertical = 0; vertical < rank; vertical++) {
    for (let column = 0; column < dctSize; column++) {
      let sum = 0
      for (let row = 0; row < dctSize; row++) sum += cosines[vertical * dctSize + row]! * areas[row * dctSize + column]!
      half[vertical * dctSize + column] = sum
    }
  }
  const frequencies = new Float64Array(rank * rank)
  for (let vertical = 0; vertical < rank; vertical++) {
    for (let horizontal = 0; horizontal < rank; horizontal++) {
      let sum = 0
      for (let column = 0; column < dctSize; column++) {
        sum += half[vertical * dctSize + column]! * cosines[horizontal * dctSize + column]!
      }
      frequencies[vertical * rank + horizontal] = sum
    }
  }
  return frequencies
}

/** Scaled so that a coefficient is the amplitude of its wave. */
function createCosines(): Float64Array {
  const values = new Float64Array(rank * dctSize)
  for (let frequency = 1; frequency <= rank; frequency++) {
    for (let place = 0; place < dctSize; place++) {
      values[(frequency - 1) * dctSize + place] = (Math.cos((Math.PI * frequency * (2 * place + 1)) / (2 * dctSize)) * 2) / dctSize
    }
  }
  return values
}

interface Share {
  readonly place: number
  readonly weight: number
}

/** For each of `count` equal parts of 64 pixels, the pixels in it, those on its border in part. */
function createAverages(count: number): readonly (readonly Share[])[] {
  const width = size / count
  return Array.from({ length: count }, (_, part) => {
    const shares: Share[] = []
    for (let place = Math.floor(part * width); place < Math.min(size, (part + 1) * width); place++) {
      const covered = Math.min(place + 1, (part + 1) * width) - Math.max(place, part * width)
      if (covered > 1e-9) shares.push({ place, weight: covered / width })
    }
    return shares
  })
}

/** Area averages of the 64 × 64 pixels. */
function average(luma: Float64Array, columns: readonly (readonly Share[])[], rows: readonly (readonly Share[])[]): Float64Array {
  const narrow = new Float64Array(size * columns.length)
  for (let row = 0; row < size; row++) {
    columns.forEach((shares, column) => {
      let sum = 0
      for (const { place, weight } of shares) sum += luma[row * size + place]! * weight
      narrow[row * columns.length + column] = sum
    })
  }
  const areas = new Float64Array(rows.length * columns.length)
  rows.forEach((shares, row) => {
    for (let column = 0; column < columns.length; column++) {
      let sum = 0
      for (const { place, weight } of shares) sum += narrow[place * columns.length + column]! * weight
      areas[row * columns.length + column] = sum
    }
  })
  return areas
}
