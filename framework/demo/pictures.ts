import sharp from 'sharp'
import { Canvas } from './painting/canvas.ts'
import { agate, leaves } from './painting/closeups.ts'
import { balloons, coast, desert, forest, lakes, meadow, mountains } from './painting/landscapes.ts'
import { bokeh, city, nightSky } from './painting/nights.ts'
import { createRandom, type Random } from './painting/random.ts'

const scenes = { mountains, lakes, coast, desert, forest, meadow, balloons, city, nightSky, bokeh, agate, leaves }

export type SceneName = keyof typeof scenes

/** A picture before it is a file: what it shows, and which one of them. Equal pictures give equal bytes. */
export interface Picture {
  readonly scene: SceneName
  readonly seed: number
  /** Width by height. */
  readonly aspect: number
}

/** The file that is made of a picture. */
export interface Edition {
  /** Pixels; the height follows from the aspect. */
  readonly width: number
  readonly format: 'jpeg' | 'png' | 'webp'
  /** 1 to 100, for JPEG and WebP. Default 84. */
  readonly quality?: number
  /** A small badge in the lower right corner. */
  readonly watermark?: boolean
  /** The share of width and height cut off at the right and at the foot, 0 to 1. */
  readonly crop?: number
}

/** Paintings are made this large, in pixels, and brought to size afterwards: what is painted costs the most. */
const paintedPixels = 130_000

/** Makes the file of a picture: about 20 ms of processor time for a JPEG. */
export function renderPicture(picture: Picture, edition: Edition): Promise<Buffer> {
  const painting = paint(picture)
  if (edition.watermark === true) stamp(painting)
  const photograph = develop(painting, createRandom(picture.seed), edition.width, 1 - (edition.crop ?? 0))
  const image = sharp(photograph.data, { raw: { width: photograph.width, height: photograph.height, channels: 3 } })
  const quality = edition.quality ?? 84
  if (edition.format === 'jpeg') return image.jpeg({ quality }).toBuffer()
  if (edition.format === 'webp') return image.webp({ quality, effort: 1 }).toBuffer()
  return image.png({ compressionLevel: 4 }).toBuffer()
}

interface Photograph {
  readonly width: number
  readonly height: number
  /** Three bytes a pixel. */
  readonly data: Uint8ClampedArray
}

function paint(picture: Picture): Canvas {
  const width = Math.round(Math.sqrt(paintedPixels * picture.aspect))
  const canvas = new Canvas(width, Math.round(width / picture.aspect))
  scenes[picture.scene](canvas, createRandom(picture.seed))
  return canvas
}

/**
 * Brings a painting to the size of a photograph, by linear interpolation, with darker corners and film grain, without
 * which it would look painted. `part` is the share of it that is taken, from the upper left.
 */
function develop(painting: Canvas, random: Random, width: number, part: number): Photograph {
  const height = Math.round((width * painting.height) / painting.width)
  const data = new Uint8ClampedArray(width * height * 3)
  const grain = Int8Array.from({ length: 4096 }, () => (random() + random() + random() - 1.5) * 8)
  // Whole numbers, of 256ths and 1024ths, take half the time.
  const line = new Int32Array(painting.width * 3)
  const stepX = (part * (painting.width - 1)) / width
  const stepY = (part * (painting.height - 1)) / height
  const left = Int32Array.from({ length: width }, (_, x) => Math.floor(x * stepX) * 3)
  const across = Int32Array.from({ length: width }, (_, x) => ((x * stepX) % 1) * 256)
  const edge = Int32Array.from({ length: width }, (_, x) => 512 * (x / width - 0.5) ** 2)
  for (let y = 0, at = 0; y < height; y++) {
    const top = Math.floor(y * stepY)
    const down = (y * stepY - top) * 256
    const upper = top * line.length
    for (let index = 0; index < line.length; index++) {
      line[index] = painting.data[upper + index]! * (256 - down) + painting.data[upper + line.length + index]! * down
    }
    const middle = Math.round(1085 - 512 * (y / height - 0.5) ** 2)
    const start = Math.floor(random() * 4096)
    for (let x = 0; x < width; x++, at += 3) {
      const from = left[x]!
      const right = across[x]!
      const light = middle - edge[x]!
      const noise = grain[(start + x) & 4095]!
      data[at] = ((((line[from]! * (256 - right) + line[from + 3]! * right) >> 8) * light) >> 18) + noise
      data[at + 1] = ((((line[from + 1]! * (256 - right) + line[from + 4]! * right) >> 8) * light) >> 18) + noise
      data[at + 2] = ((((line[from + 2]! * (256 - right) + line[from + 5]! * right) >> 8) * light) >> 18) + noise
    }
  }
  return { width, height, data }
}

function stamp(canvas: Canvas): void {
  const radius = canvas.width * 0.03
  const x = canvas.width - radius * 1.6
  const y = canvas.height - radius * 1.6
  canvas.disc(x, y, radius, [255, 255, 255], 0.75)
  canvas.disc(x, y, radius * 0.72, [40, 60, 90], 0.8)
  canvas.disc(x - radius * 0.2, y - radius * 0.2, radius * 0.25, [255, 255, 255], 0.9)
}
