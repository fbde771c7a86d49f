import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import sharp from 'sharp'
import { DropItem, isCrawlError, type Pipeline, type SettingsInput } from 'orbweaver'
import { dedupe, filter, hash, persist, pipelines, save } from 'orbweaver/pipelines'
import { Harvest, picture } from './harvest.ts'

type Body = (harvest: Harvest) => Promise<void>

function harvesting(body: Body, settings?: SettingsInput, parts?: readonly Pipeline[]): () => Promise<void> {
  return async () => {
    const harvest = await Harvest.open(settings, parts)
    try {
      await body(harvest)
    } finally {
      await harvest.close()
    }
  }
}

const dropped = (reason: string) => (error: Error) => isCrawlError(error, 'drop') && error.reason === reason
const jpeg = (seed: number, width?: number, height?: number): Promise<Buffer> =>
  picture(seed, width, height).jpeg({ quality: 90 }).toBuffer()
const again = (seed: number, quality: number): Promise<Buffer> => picture(seed).jpeg({ quality }).toBuffer()

describe('filter', () => {
  test('drops what is too small, too long or of another format, and says what the limit is', harvesting(async (harvest) => {
    await assert.rejects(harvest.keep('narrow', await jpeg(1, 99, 400)), dropped('too small'))
    const isLow = (error: Error) => dropped('too small')(error) && error.message.includes('400 × 99')
    await assert.rejects(harvest.keep('low', await jpeg(1, 400, 99)), isLow)
    await assert.rejects(harvest.keep('long', await jpeg(1, 1_200, 110)), dropped('aspect ratio'))
    await assert.rejects(harvest.keep('gif', await picture(1).gif().toBuffer()), dropped('format'))
    await harvest.keep('fine', await jpeg(1, 100, 100))
    assert.deepEqual(harvest.keys().length, 1)
  }, { images: { formats: ['jpeg'] } }))

  test('lets everything pass that the settings allow', harvesting(async (harvest) => {
    await harvest.keep('strip', await jpeg(1, 1_000, 20))
    assert.equal(harvest.row('strip').status, 'downloaded')
  }, { images: { minWidth: 0, minHeight: 0, maxAspect: 0 } }))
})

describe('save', () => {
  test('names a file by day, site, number and bytes, with the extension of its real format', harvesting(async (harvest) => {
    const bytes = {
      'a.jpg': await jpeg(1),
      'b.jpg': await picture(2).png().toBuffer(),
      'c?x=1': await picture(3).webp().toBuffer(),
      d: await picture(4).tiff().toBuffer(),
    }
    for (const [name, content] of Object.entries(bytes)) await harvest.keep(name, content)
    const day = new Date().toISOString().slice(0, 10)
    const keys = Object.entries(bytes).map(([name, content], index) => {
      const { id, path } = harvest.row(name)
      const short = createHash('sha256').update(content).digest('hex').slice(0, 8)
      const extension = ['jpg', 'png', 'webp', 'tif'][index]
      assert.equal(path, `${day}/gallery_${day.replaceAll('-', '')}_${String(id).padStart(6, '0')}_${short}.${extension}`)
      assert.deepEqual(readFileSync(harvest.files.locate(path)), content, 'the bytes are kept as they came')
      return path
    })
    assert.deepEqual(harvest.keys(), keys.sort())
  }))

  test('repeats to the same name after a crash between file and row', async () => {
    const crash: Pipeline = () => async () => {
      throw new Error('killed here')
    }
    const harvest = await Harvest.open({}, [filter, hash, dedupe, save, crash])
    const bytes = await jpeg(1)
    await assert.rejects(harvest.keep('one', bytes), /killed here/)
    const left = harvest.keys()
    assert.equal(left.length, 1)
    await harvest.reopen()
    await harvest.keep('one', bytes, { attempt: 2 })
    assert.deepEqual(harvest.keys(), left)
    assert.equal(harvest.row('one').path, left[0])
    await harvest.close()
  })

  test('takes the file of an interrupted try back when the image turns out to be a duplicate', async () => {
    const crash: Pipeline = () => async () => {
      throw new Error('killed here')
    }
    const harvest = await Harvest.open({}, [filter, hash, dedupe, save, crash])
    const bytes = await jpeg(1)
    await assert.rejects(harvest.keep('one', bytes), /killed here/)
    await harvest.reopen()
    await harvest.keep('two', bytes)
    await harvest.keep('one', bytes, { attempt: 2 })
    assert.equal(harvest.row('one').status, 'duplicate')
    assert.deepEqual(harvest.keys(), [harvest.row('two').path])
    await harvest.close()
  })

  test('takes the file back when a pipeline behind it drops the item', harvesting(async (harvest) => {
    await assert.rejects(harvest.keep('one', await jpeg(1)), dropped('not today'))
    assert.deepEqual(harvest.keys(), [])
  }, {}, [filter, hash, dedupe, save, () => async () => {
    throw new DropItem('not today')
  }]))

  test('leaves the file of a committed row, whatever is thrown afterwards', harvesting(async (harvest) => {
    await assert.rejects(harvest.keep('one', await jpeg(1)), dropped('too late'))
    assert.deepEqual(harvest.keys(), [harvest.row('one').path])
  }, {}, [filter, hash, dedupe, save, () => async (item, next) => {
    await next(item)
    throw new DropItem('too late')
  }, persist]))

  test('makes any name of a spider safe for file names', async () => {
    for (const site of ['../../etc', 'con', 'a/b\\c:d', 'ünï cødé', '...', 'x'.repeat(300)]) {
      const rename: Pipeline = () => async (item, next) => next({ ...item, site })
      const harvest = await Harvest.open({}, [rename, ...pipelines])
      await harvest.keep('one', await jpeg(1))
      const [key = ''] = harvest.keys()
      assert.match(key, /^\d{4}-\d\d-\d\d\/[A-Za-z0-9][A-Za-z0-9.-]{0,79}_\d{8}_\d{6}_[0-9a-f]{8}\.jpg$/, site)
      await harvest.close()
    }
  })
})

describe('dedupe', () => {
  test('keeps one of two files with the same bytes', harvesting(async (harvest) => {
    const bytes = await jpeg(1)
    await harvest.keep('one', bytes)
    const stored = await harvest.keep('two', bytes)
    assert.equal(stored.status, 'duplicate')
    const { status, duplicate_of, distance, reason, path } = harvest.row('two')
    assert.deepEqual([status, duplicate_of, distance, reason, path], ['duplicate', harvest.row('one').id, 0, 'exact', null])
    assert.deepEqual(harvest.keys(), [harvest.row('one').path])
    assert.equal(harvest.stats.get('dedupe/exact'), 1)
  }))

  const drawing = (width: number, height: number, content: string): Buffer =>
    Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${content}</svg>`)
  const shade = '<rect width="160" height="40" fill="#fff" fill-opacity="0.2"/>'
  const watermark = drawing(160, 40, `${shade}<path d="M10 20h140" stroke="#222" stroke-width="3"/>`)
  const copies: Readonly<Record<string, () => Promise<Buffer>>> = {
    'compressed again': () => again(1, 40),
    'progressive': () => picture(1).jpeg({ quality: 80, progressive: true }).toBuffer(),
    'smaller': async () => sharp(await jpeg(1)).resize(320, 240).jpeg().toBuffer(),
    'a little larger': async () => sharp(await jpeg(1)).resize(900, 675).jpeg().toBuffer(),
    'a PNG': async () => sharp(await jpeg(1)).png().toBuffer(),
    'a WebP': async () => sharp(await jpeg(1)).webp({ quality: 60 }).toBuffer(),
    'an AVIF': async () => sharp(await jpeg(1)).avif({ quality: 50, effort: 1 }).toBuffer(),
    'a GIF': async () => sharp(await jpeg(1)).resize(400, 300).gif().toBuffer(),
    'with a watermark': async () => sharp(await jpeg(1)).composite([{ input: watermark, gravity: 'southeast' }]).jpeg().toBuffer(),
    'in grey': async () => sharp(await jpeg(1)).grayscale().jpeg().toBuffer(),
    'turned by EXIF': async () => sharp(await jpeg(1)).rotate(270).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
    'with 16 bits': async () => sharp(await jpeg(1)).toColourspace('rgb16').png().toBuffer(),
  }
  for (const hashName of ['pHash', 'dHash', 'aHash'] as const) {
    test(`knows by ${hashName} a picture that is ${Object.keys(copies).join(', ')}`, harvesting(async (harvest) => {
      await harvest.keep('original', await jpeg(1))
      await harvest.keep('another', await jpeg(2))
      for (const [name, make] of Object.entries(copies)) {
        await harvest.keep(name, await make())
        const { status, duplicate_of, reason } = harvest.row(name)
        assert.deepEqual([status, duplicate_of, reason], ['duplicate', harvest.row('original').id, 'near'], name)
      }
      assert.equal(harvest.keys().length, 2)
    }, { dedupe: { hash: hashName } }))
  }

  test('puts a much larger copy in the place of the kept picture, file and rows', harvesting(async (harvest) => {
    await harvest.keep('small', await jpeg(1, 400, 300))
    await harvest.keep('copy', await picture(1, 400, 300).jpeg({ quality: 50 }).toBuffer())
    const smallKey = harvest.row('small').path
    const large = await jpeg(1, 1_600, 1_200)
    await harvest.keep('large', large)
    const { small, copy, large: row } = harvest.rows()
    assert.ok(small && copy && row)
    assert.deepEqual([small.status, small.duplicate_of, small.path], ['duplicate', row.id, null])
    assert.deepEqual([copy.status, copy.duplicate_of], ['duplicate', row.id])
    assert.deepEqual([row.status, row.duplicate_of], ['downloaded', null])
    assert.deepEqual(harvest.keys(), [row.path])
    assert.notEqual(row.path, smallKey)
    assert.deepEqual(readFileSync(harvest.files.locate(row.path ?? '')), large)
    await harvest.reopen()
    await harvest.keep('late', await jpeg(1, 500, 375))
    assert.equal(harvest.row('late').duplicate_of, row.id)
  }))

  test('leaves the old file to the next start when the crawl ends between row and deletion', async () => {
    const harvest = await Harvest.open()
    await harvest.keep('small', await jpeg(1, 400, 300))
    const smallKey = harvest.row('small').path
    const die: Pipeline = () => async (item, next) => {
      await next(item)
      throw new Error('killed here')
    }
    await harvest.reopen({}, [filter, hash, dedupe, save, die, persist])
    await assert.rejects(harvest.keep('large', await jpeg(1, 1_600, 1_200)), /killed here/)
    await harvest.reopen()
    assert.deepEqual(await harvest.store.abandoned(), [{ id: harvest.row('small').id, key: smallKey }])
    await harvest.close()
  })

  test('keeps what is merely alike, marked for review', harvesting(async (harvest) => {
    await harvest.keep('one', await jpeg(1))
    const strip = drawing(800, 600, '<rect y="60" width="800" height="60" fill="#111"/>')
    await harvest.keep('alike', await picture(1).composite([{ input: strip }]).jpeg().toBuffer())
    const { status, review_of, review_distance, path } = harvest.row('alike')
    assert.ok(review_distance !== null && review_distance > 2 && review_distance <= 24, String(review_distance))
    assert.deepEqual({ status, review_of }, { status: 'downloaded', review_of: harvest.row('one').id })
    assert.deepEqual(harvest.keys(), [harvest.row('one').path, path].sort())
    assert.equal(harvest.stats.get('dedupe/review'), 1)
  }, { dedupe: { duplicateDistance: 2, reviewDistance: 24 } }))

  test('keeps pictures that are different', harvesting(async (harvest) => {
    await Promise.all(Array.from({ length: 20 }, async (_, seed) => harvest.keep(`picture-${seed}`, await jpeg(seed))))
    const rows = Object.values(harvest.rows())
    assert.ok(rows.every(({ status, review_of }) => status === 'downloaded' && review_of === null))
    assert.equal(rows.length, 20)
    assert.equal(harvest.keys().length, 20)
  }))

  test('keeps the same picture squeezed to another shape for review', harvesting(async (harvest) => {
    await harvest.keep('one', await jpeg(1, 800, 600))
    await harvest.keep('squeezed', await jpeg(1, 800, 300))
    assert.deepEqual([harvest.row('squeezed').status, harvest.row('squeezed').review_of], ['downloaded', harvest.row('one').id])
  }))

  test('never drops an animation for its first frame, but marks it for review', harvesting(async (harvest) => {
    const frames = async (seeds: readonly number[]): Promise<Buffer> => {
      const pixels = await Promise.all(seeds.map((seed) => picture(seed, 200, 150).removeAlpha().raw().toBuffer()))
      const raw = { width: 200, height: 150 * seeds.length, channels: 3, pageHeight: 150 } as const
      return sharp(Buffer.concat(pixels), { raw }).webp({ lossless: true }).toBuffer()
    }
    await harvest.keep('first', await frames([1, 2, 3]))
    await harvest.keep('second', await frames([1, 4, 5]))
    await harvest.keep('still', await jpeg(1, 200, 150))
    const first = harvest.row('first').id
    for (const name of ['second', 'still']) {
      const { status, review_of } = harvest.row(name)
      assert.equal(status, 'downloaded', name)
      assert.notEqual(review_of, null, name)
    }
    await harvest.keep('exact', await frames([1, 2, 3]))
    assert.equal(harvest.row('exact').duplicate_of, first)
  }))

  test('compares flat pictures by their bytes alone', harvesting(async (harvest) => {
    const solid = (background: string): Promise<Buffer> =>
      sharp({ create: { width: 300, height: 200, channels: 3, background } }).png().toBuffer()
    await harvest.keep('blue', await solid('#00f'))
    await harvest.keep('white', await solid('#fff'))
    await harvest.keep('white again', await solid('#fff'))
    assert.deepEqual(Object.values(harvest.rows()).map(({ status }) => status), ['downloaded', 'downloaded', 'duplicate'])
  }))

  test('compares by bytes alone when so set', harvesting(async (harvest) => {
    await harvest.keep('one', await jpeg(1))
    await harvest.keep('two', await again(1, 50))
    await harvest.keep('three', await jpeg(1))
    assert.deepEqual(Object.values(harvest.rows()).map(({ status }) => status), ['downloaded', 'downloaded', 'duplicate'])
    assert.equal(harvest.row('two').review_of, null)
  }, { dedupe: { duplicateDistance: -1, reviewDistance: -1 } }))

  test('ends with one original when a hundred copies come at once', harvesting(async (harvest) => {
    const same = await jpeg(1)
    const copyOf = async (index: number): Promise<Buffer> => (index % 3 === 0 ? same : again(1, 30 + (index % 60)))
    const hundred = await Promise.all(Array.from({ length: 100 }, (_, index) => copyOf(index)))
    await Promise.all(hundred.map((bytes, index) => harvest.keep(`copy-${index}`, bytes)))
    const rows = Object.values(harvest.rows())
    const [original, ...others] = rows.filter(({ status }) => status === 'downloaded')
    assert.ok(original)
    assert.deepEqual(others, [])
    assert.equal(rows.filter(({ status, duplicate_of }) => status === 'duplicate' && duplicate_of === original.id).length, 99)
    assert.deepEqual(harvest.keys(), [original.path])
  }))

  test('ends with the largest when copies of all sizes come at once', harvesting(async (harvest) => {
    const sizes = Array.from({ length: 24 }, (_, index) => 200 + ((index * 7) % 24) * 60)
    const resized = await Promise.all(sizes.map((width) => jpeg(1, width, (width * 3) / 4)))
    await Promise.all(resized.map((bytes, index) => harvest.keep(`size-${sizes[index]}`, bytes)))
    const rows = Object.values(harvest.rows())
    const kept = rows.filter(({ status }) => status === 'downloaded')
    assert.equal(kept.length, 1)
    assert.ok(rows.every(({ status, duplicate_of }) => status === 'downloaded' || duplicate_of === kept[0]?.id))
    assert.deepEqual(harvest.keys(), [kept[0]?.path])
    assert.deepEqual(await harvest.store.abandoned(), [])
  }))

  test('lets the next copy be the original when the first one fails', async () => {
    let failures = 3
    const fail: Pipeline = () => async (item, next) => {
      if (failures-- > 0) throw new Error('a pipeline failed')
      return next(item)
    }
    const harvest = await Harvest.open({}, [filter, hash, dedupe, fail, save, persist])
    const five = await Promise.all([90, 80, 70, 60, 50].map((quality) => again(1, quality)))
    const ends = await Promise.allSettled(five.map((bytes, index) => harvest.keep(`copy-${index}`, bytes)))
    assert.equal(ends.filter(({ status }) => status === 'rejected').length, 3)
    const statuses = Object.values(harvest.rows()).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), ['downloaded', 'duplicate', 'pending', 'pending', 'pending'])
    await harvest.close()
  })
})

test('an image is kept again without harm when its settlement was lost', harvesting(async (harvest) => {
  const bytes = await jpeg(1)
  await harvest.keep('one', bytes)
  const before = harvest.row('one')
  const stored = await harvest.keep('one', bytes, { attempt: 2 })
  assert.equal(stored.status, 'downloaded')
  assert.deepEqual(harvest.row('one'), before)
  assert.ok(existsSync(harvest.files.locate(before.path ?? '')))
}))

test('a file that a person has put in the way is not overwritten', harvesting(async (harvest) => {
  const bytes = await jpeg(1)
  await harvest.keep('one', bytes)
  const key = harvest.row('one').path ?? ''
  await harvest.store.close()
  writeFileSync(join(harvest.folder, 'images', key), 'mine')
  await harvest.reopen()
  const isRefused = (error: Error) => isCrawlError(error, 'storage') && error.message.includes(key)
  await assert.rejects(harvest.keep('one', bytes, { attempt: 2 }), isRefused)
  assert.equal(readFileSync(harvest.files.locate(key), 'utf8'), 'mine')
}))
