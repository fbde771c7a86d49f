import { createRandom } from './random.ts'

const size = 512
const mask = size - 1
/** Cells of the coarsest octave along one side. */
const coarsest = 8

/** Fractal noise that repeats without a seam. Made once, since each picture only looks at its own window of it. */
const texels = createTexels()

/**
 * Fractal noise at a point, 0 to 1 and mostly near 0.5; one unit is one hill of the coarsest octave, and it repeats
 * after 8 units.
 */
export function noiseAt(x: number, y: number): number {
  const column = x * (size / coarsest)
  const row = y * (size / coarsest)
  const left = Math.floor(column)
  const top = Math.floor(row)
  const across = column - left
  const down = row - top
  const upper = (top & mask) * size
  const lower = ((top + 1) & mask) * size
  const a = texels[upper + (left & mask)]!
  const b = texels[upper + ((left + 1) & mask)]!
  const c = texels[lower + (left & mask)]!
  const d = texels[lower + ((left + 1) & mask)]!
  return a + (b - a) * across + (c - a) * down + (a - b - c + d) * across * down
}

function createTexels(): Float32Array {
  const sum = new Float32Array(size * size)
  let strength = 0.5
  for (let cells = coarsest; cells <= size; cells *= 2) {
    addOctave(sum, cells, strength)
    strength *= 0.52
  }
  return sum
}

function addOctave(sum: Float32Array, cells: number, strength: number): void {
  const random = createRandom(cells)
  const lattice = Float32Array.from({ length: cells * cells }, random)
  const step = size / cells
  for (let y = 0; y < size; y++) {
    const top = Math.floor(y / step)
    const down = smooth(y / step - top)
    for (let x = 0; x < size; x++) {
      const left = Math.floor(x / step)
      const across = smooth(x / step - left)
      const right = (left + 1) % cells
      const upper = top * cells
      const lower = ((top + 1) % cells) * cells
      const above = lattice[upper + left]! * (1 - across) + lattice[upper + right]! * across
      const below = lattice[lower + left]! * (1 - across) + lattice[lower + right]! * across
      sum[y * size + x]! += strength * (above * (1 - down) + below * down)
    }
  }
}

function smooth(t: number): number {
  return t * t * (3 - 2 * t)
}
