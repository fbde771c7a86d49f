import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import sharp, { type Metadata, type Sharp } from 'sharp'
import { Limit } from '../async/limit.ts'
import { ImageError, isCrawlError, messageOf } from '../errors.ts'
import type { ImageFile, ImageFormat, Thumbnail } from '../item.ts'
import { sniff, sniffBytes } from './sniff.ts'
import { isCut } from './structure.ts'

/** A picture that takes longer is made to do so. */
const decodeSeconds = 60

const contentTypes: Readonly<Record<ImageFormat, string>> = {
  jpeg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
  tiff: 'image/tiff',
  svg: 'image/svg+xml',
}

// No picture is decoded twice, and many are decoded at once: neither the cache nor threads inside one decoder help.
sharp.cache(false)
sharp.concurrency(1)
const decoders = new Limit(availableParallelism())
/** Files in memory at once: enough that a decoder never waits for one. */
const readers = new Limit(4 * availableParallelism())

export interface DownloadedFile {
  readonly path: string
  /** Bytes. */
  readonly size: number
  /** In 64 hexadecimal digits. */
  readonly sha256: string
}

export interface InspectOptions {
  /** Width × height × frames. More is refused before anything is decoded. */
  readonly maxPixels: number
  readonly signal?: AbortSignal
}

/**
 * Finds out whether a file is a whole image that may be kept, and measures it: format by magic number, size by header,
 * wholeness by structure and by decoding all of the first frame. At most four files a core are in memory at once, which is
 * faster by a third than decoding from disk, and one a core is decoded.
 * @throws ImageError that says what is wrong with the bytes.
 */
export async function inspectImage(file: DownloadedFile, { maxPixels, signal }: InspectOptions): Promise<ImageFile> {
  const { path, size, sha256 } = file
  if (size === 0) throw new ImageError('empty', 'the answer had no bytes')
  signal?.throwIfAborted()
  return readers.run(async () => {
    signal?.throwIfAborted()
    const bytes = await readFile(path)
    const format = knownFormat(bytes.subarray(0, sniffBytes))
    if (isCut(format, bytes)) throw new ImageError('truncated', `this ${format} ends before its data does`)
    try {
      return { path, size, sha256, format, contentType: contentTypes[format], ...(await decode(bytes, maxPixels)) }
    } catch (error) {
      if (isCrawlError(error)) throw error
      const reason = /premature end/i.test(messageOf(error)) ? 'truncated' : 'broken'
      throw new ImageError(reason, `this ${format} can't be decoded: ${messageOf(error)}`, { cause: error })
    }
  })
}

function knownFormat(head: Buffer): ImageFormat {
  const sniffed = sniff(head)
  if (sniffed === undefined) throw new ImageError('not an image', 'the bytes are of no known image format')
  if ('text' in sniffed) throw new ImageError('not an image', `a text came instead of an image: ${messageOf(head.toString(), 60)}`)
  if ('unsupported' in sniffed) throw new ImageError('unsupported format', `${sniffed.unsupported} images are not kept`)
  return sniffed.format
}

async function decode(bytes: Buffer, maxPixels: number): Promise<Pick<ImageFile, 'width' | 'height' | 'frames' | 'thumbnail'>> {
  // 'error' and not 'warning': cameras write files that decoders only grumble about, and that are whole.
  const image = sharp(bytes, { failOn: 'error', pages: 1, limitInputPixels: false, sequentialRead: true })
  const metadata = await image.metadata()
  const { width, height } = metadata.autoOrient
  const frames = metadata.pages ?? 1
  refuseTooLarge(metadata, frames, maxPixels)
  return { width, height, frames, thumbnail: await decoders.run(() => squeeze(image)) }
}

function refuseTooLarge({ width, height }: Metadata, frames: number, maxPixels: number): void {
  if (width * height * frames <= maxPixels) return
  const size = frames === 1 ? `${width} × ${height}` : `${width} × ${height} × ${frames} frames`
  throw new ImageError('too many pixels', `${size} is more than the ${maxPixels} pixels of the setting images.maxPixels`)
}

/** Turned upright, laid over white and brought to sRGB first, so that copies in other clothes come out alike. */
async function squeeze(image: Sharp): Promise<Thumbnail> {
  const rgb = await image
    .autoOrient()
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .resize(64, 64, { fit: 'fill', kernel: 'lanczos3' })
    .removeAlpha()
    .raw({ depth: 'uchar' })
    .timeout({ seconds: decodeSeconds })
    .toBuffer()
  return { size: 64, rgb }
}
