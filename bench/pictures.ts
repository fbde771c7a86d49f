import { access, mkdir, rename, readFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { randomFrom } from './page-html.ts'

const width = 800
const height = 600
const quality = 80
/** Tuned for files of about 65 kB. */
const noiseDeviation = 8
/** Change it when the pictures change: they are kept in the temporary folder between runs. */
const version = 1

/**
 * JPEG files of about 65 kB, the same in every run and no two alike: each is a grid of random steps, smoothed to full size,
 * so that its perceptual hashes are far from those of all others (of 2,000: at least 12 bits by dHash and pHash).
 * Kept in the temporary folder of the system for the next run.
 */
export async function loadPictures(count: number): Promise<Buffer[]> {
  const folder = join(tmpdir(), `orbweaver-bench-pictures-v${version}-${width}x${height}-q${quality}`)
  await mkdir(folder, { recursive: true })
  const noise = renderNoise()
  const pictures: Buffer[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) {
      const number = next
      next += 1
      const path = join(folder, `${number}.jpg`)
      if (!(await exists(path))) await renderPicture(number, noise, path)
      pictures[number] = await readFile(path)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return pictures
}

async function renderPicture(number: number, noise: Buffer, path: string): Promise<void> {
  const grid = await sharp(randomGrid(number), { raw: { width: 9, height: 8, channels: 3 } })
    .resize(width, height, { fit: 'fill', kernel: 'cubic' })
    .raw()
    .toBuffer()
  // Each picture begins elsewhere in the noise, so that the fine detail differs too.
  const offset = (randomFrom(number)() % 1_000) * 3
  for (let index = 0; index < grid.length; index += 1) {
    const value = (grid[index] ?? 0) + (noise[(index + offset) % noise.length] ?? 0) - 128
    grid[index] = value < 0 ? 0 : value > 255 ? 255 : value
  }
  const unfinished = `${path}.${process.pid}`
  await sharp(grid, { raw: { width, height, channels: 3 } }).jpeg({ quality }).toFile(unfinished)
  await rename(unfinished, path)
}

/** Every cell is brighter or darker than its left neighbour by chance: the bits of a difference hash, each independent. */
function randomGrid(number: number): Buffer {
  const random = randomFrom(number * 7 + 3)
  for (let round = 0; round < 8; round += 1) random()
  const cells = Buffer.alloc(9 * 8 * 3)
  for (let row = 0; row < 8; row += 1) {
    let level = 60 + (random() >>> 8) % 136
    for (let column = 0; column < 9; column += 1) {
      const step = 30 + (random() >>> 8) % 40
      const up = ((random() >>> 12) & 1) === 1
      level += (up && level + step <= 235) || level - step < 20 ? step : -step
      for (let channel = 0; channel < 3; channel += 1) {
        cells[(row * 9 + column) * 3 + channel] = level + ((random() >>> 9) % 41) - 20
      }
    }
  }
  return cells
}

/** About normal: the sum of three even ones. */
function renderNoise(): Buffer {
  const random = randomFrom(0)
  const noise = Buffer.alloc(width * height * 3)
  for (let index = 0; index < noise.length; index += 1) {
    const bits = random()
    const sum = (bits & 1_023) + ((bits >>> 10) & 1_023) + ((bits >>> 20) & 1_023)
    noise[index] = 128 + Math.round(((sum - 1_534.5) / 511.5) * noiseDeviation)
  }
  return noise
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
