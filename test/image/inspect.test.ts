import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import sharp, { type Sharp } from 'sharp'
import { isCrawlError, type ImageFailure } from '../../framework/errors.ts'
import { hammingDistance, hashThumbnail } from '../../framework/image/hashes.ts'
import { inspectImage } from '../../framework/image/inspect.ts'
import type { ImageFile } from '../../framework/item.ts'

const folder = mkdtempSync(join(tmpdir(), 'orbweaver-inspect-'))
after(() => rmSync(folder, { recursive: true }))

let count = 0
function inspectBytes(bytes: Buffer, maxPixels = 1_000_000): Promise<ImageFile> {
  const path = join(folder, String(++count))
  writeFileSync(path, bytes)
  return inspectImage({ path, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }, { maxPixels })
}

const fixture = (name: string): Promise<Buffer> => readFile(join(import.meta.dirname, '..', 'fixtures', 'images', name))
const inspectFixture = async (name: string): Promise<ImageFile> => inspectBytes(await fixture(name))
const refused = (reason: ImageFailure, text = '') => (error: Error) => {
  assert.ok(isCrawlError(error, 'image'), String(error))
  assert.equal(error.reason, reason, error.message)
  assert.ok(error.message.includes(text), error.message)
  return true
}

/** A picture with texture, the same every time. */
function picture(width: number, height: number): Sharp {
  const pixels = Buffer.alloc(width * height * 3)
  for (let index = 0; index < pixels.length; index++) pixels[index] = 128 + 100 * Math.sin(index / 37) * Math.cos(index / 4001)
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}

function animation(): Sharp {
  const frames = Buffer.alloc(80 * 60 * 3 * 4)
  for (let index = 0; index < frames.length; index++) frames[index] = (index * 7 + Math.floor(index / 14_400) * 50) % 251
  return sharp(frames, { raw: { width: 80, height: 240, channels: 3, pageHeight: 60 } })
}

describe('inspectImage: what is kept', () => {
  const kept: readonly [name: string, expected: Partial<ImageFile>][] = [
    ['ok.jpg', { format: 'jpeg', contentType: 'image/jpeg', width: 256, height: 192, frames: 1 }],
    ['progressive.jpg', { format: 'jpeg', width: 256, height: 192 }],
    ['exif-orient6.jpg', { format: 'jpeg', width: 64, height: 96 }],
    ['exif-broken.jpg', { format: 'jpeg', width: 256, height: 192 }],
    ['png-named.jpg', { format: 'png', contentType: 'image/png', width: 64, height: 48 }],
    ['rgb-16bit.png', { format: 'png' }],
    ['grey-alpha-16bit.png', { format: 'png', width: 64, height: 48 }],
    ['palette-alpha.png', { format: 'png' }],
    ['avif-named.jpg', { format: 'avif', contentType: 'image/avif', width: 64, height: 48 }],
    ['pixel-1x1.gif', { format: 'gif', width: 1, height: 1 }],
    ['three-pages.tif', { format: 'tiff', width: 16, height: 12, frames: 3 }],
  ]
  for (const [name, expected] of kept) {
    test(`${name}, by its bytes and not by its name`, async () => {
      const image = await inspectFixture(name)
      for (const [field, value] of Object.entries(expected)) assert.equal(image[field as keyof ImageFile], value, field)
      assert.equal(image.thumbnail.rgb.length, 64 * 64 * 3)
    })
  }

  test('an animation, with its frames counted and the size of one', async () => {
    for (const bytes of [await animation().gif().toBuffer(), await animation().webp().toBuffer()]) {
      const { width, height, frames } = await inspectBytes(bytes)
      assert.deepEqual({ width, height, frames }, { width: 80, height: 60, frames: 4 })
    }
  })

  test('grey and CMYK pictures, alike to the coloured one', async () => {
    const original = sharp(await fixture('ok.jpg'))
    const { pHash } = hashThumbnail((await inspectFixture('ok.jpg')).thumbnail)
    for (const copy of [original.clone().grayscale().png(), original.clone().toColourspace('cmyk').jpeg()]) {
      const { thumbnail } = await inspectBytes(await copy.toBuffer())
      assert.ok(hammingDistance(hashThumbnail(thumbnail).pHash, pHash) <= 8)
    }
  })

  test('transparent parts are white in the thumbnail', async () => {
    const { thumbnail } = await inspectFixture('palette-alpha.png')
    assert.deepEqual([...thumbnail.rgb.subarray(0, 3)], [255, 255, 255])
    const center = (32 * 64 + 32) * 3
    for (const value of thumbnail.rgb.subarray(center, center + 3)) assert.ok(Math.abs(value - 30) <= 3, String(value))
  })
})

describe('inspectImage: what is refused', () => {
  const refusals: readonly [name: string, reason: ImageFailure, text: string][] = [
    ['zero-byte.jpg', 'empty', ''],
    ['html-named.jpg', 'not an image', 'text'],
    ['html-bom-ws-named.png', 'not an image', 'text'],
    ['json-error-named.webp', 'not an image', 'text'],
    ['ok.bmp', 'unsupported format', 'bmp'],
    ['two-images.ico', 'unsupported format', 'ico'],
    ['heic-stub-named.jpg', 'unsupported format', 'heic'],
    ['truncated-60pct.jpg', 'truncated', 'jpeg'],
    ['progressive-first-scan-only.jpg', 'truncated', 'jpeg'],
  ]
  for (const [name, reason, text] of refusals) {
    test(`${name}: ${reason}`, async () => {
      await assert.rejects(inspectFixture(name), refused(reason, text))
    })
  }

  test('SVG, which could load other files: unsupported format', async () => {
    const own = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    for (const text of [own, `<?xml version="1.0"?>\n<!-- a -->\n${own}`, '\ufeff <SVG width="1">']) {
      await assert.rejects(inspectBytes(Buffer.from(text)), refused('unsupported format', 'svg'))
    }
  })

  test('bytes of no format: not an image', async () => {
    await assert.rejects(inspectBytes(Buffer.from([1, 2, 3, 0, 0, 0, 9, 9, 9, 200])), refused('not an image'))
    await assert.rejects(inspectBytes(Buffer.from([0xff])), refused('not an image'))
  })

  const formats: readonly [name: string, make: () => Promise<Buffer>][] = [
    ['baseline JPEG', () => picture(1_200, 900).jpeg().toBuffer()],
    ['progressive JPEG', () => picture(400, 300).jpeg({ progressive: true }).toBuffer()],
    ['PNG', () => picture(400, 300).png().toBuffer()],
    ['interlaced PNG', () => picture(400, 300).png({ progressive: true }).toBuffer()],
    ['GIF', () => picture(200, 150).gif().toBuffer()],
    ['animated GIF', () => animation().gif().toBuffer()],
    ['WebP', () => picture(400, 300).webp().toBuffer()],
    ['lossless WebP', () => picture(200, 150).webp({ lossless: true }).toBuffer()],
    ['animated WebP', () => animation().webp().toBuffer()],
    ['AVIF', () => picture(200, 150).avif({ effort: 0 }).toBuffer()],
  ]
  for (const [name, make] of formats) {
    test(`${name} that ends too soon, wherever: truncated; with something behind its end: kept`, async () => {
      const bytes = await make()
      for (const length of [0.3, 0.6, 0.9, 0.99].map((share) => Math.floor(bytes.length * share)).concat(bytes.length - 1)) {
        const what = `${length} of ${bytes.length} bytes`
        await assert.rejects(inspectBytes(bytes.subarray(0, length), 5_000_000), refused('truncated'), what)
      }
      assert.ok((await inspectBytes(bytes, 5_000_000)).width > 0)
      assert.ok((await inspectBytes(Buffer.concat([bytes, Buffer.from('<!-- served by cache-7 -->\r\n')]), 5_000_000)).width > 0)
    })
  }

  test('a TIFF that ends too soon is not kept', async () => {
    const bytes = await picture(300, 200).tiff({ compression: 'lzw' }).toBuffer()
    for (const share of [0.3, 0.9]) {
      const cut = bytes.subarray(0, Math.floor(bytes.length * share))
      await assert.rejects(inspectBytes(cut), (error) => isCrawlError(error, 'image'))
    }
  })

  test('the end marker of an embedded thumbnail is not the end of the picture', async () => {
    const thumbnail = await picture(40, 30).jpeg().toBuffer()
    const whole = await picture(400, 300).jpeg().toBuffer()
    const segment = Buffer.concat([Buffer.from([0xff, 0xe7, (thumbnail.length + 2) >> 8, (thumbnail.length + 2) & 255]), thumbnail])
    const bytes = Buffer.concat([whole.subarray(0, 2), segment, whole.subarray(2)])
    assert.equal((await inspectBytes(bytes)).width, 400)
    await assert.rejects(inspectBytes(bytes.subarray(0, bytes.length - 500)), refused('truncated'))
  })

  test('damage in the middle: broken', async () => {
    const bytes = await picture(400, 300).png().toBuffer()
    bytes.fill(0x55, 20_000, 20_400)
    await assert.rejects(inspectBytes(bytes), refused('broken', 'png'))
  })

  test('a picture larger than allowed, before it is decoded, its frames counted', async () => {
    const black = { width: 12_000, height: 12_000, channels: 3, background: '#000' } as const
    const bomb = await sharp({ create: black }).png({ compressionLevel: 9 }).toBuffer()
    await assert.rejects(inspectBytes(bomb, 100_000_000), refused('too many pixels', '12000 × 12000'))
    await assert.rejects(inspectBytes(await animation().gif().toBuffer(), 80 * 60 * 3), refused('too many pixels', '4 frames'))
  })

  test('everything, once the crawl has ended', async () => {
    const reason = new Error('the crawl is ending')
    const path = join(import.meta.dirname, '..', 'fixtures', 'images', 'ok.jpg')
    await assert.rejects(inspectImage({ path, size: 1, sha256: '' }, { maxPixels: 1, signal: AbortSignal.abort(reason) }), reason)
  })
})
