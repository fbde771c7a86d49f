import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { array, assert as check, nat, property, stringMatching, tuple } from 'fast-check'
import sharp from 'sharp'
import { HashIndex } from '../../framework/image/hash-index.ts'
import { hammingDistance, hashThumbnail } from '../../framework/image/hashes.ts'
import { inspectImage } from '../../framework/image/inspect.ts'
import type { PerceptualHashes, SimilarImage, Thumbnail } from '../../framework/item.ts'

async function hashesOf(name: string): Promise<PerceptualHashes> {
  const path = join(import.meta.dirname, '..', 'fixtures', 'images', name)
  const bytes = await readFile(path)
  const { thumbnail } = await inspectImage({ path, size: bytes.length, sha256: '' }, { maxPixels: 1_000_000 })
  return hashThumbnail(thumbnail)
}

/** A thumbnail painted point by point, in grey. */
function paint(shade: (x: number, y: number) => number): Thumbnail {
  const rgb = new Uint8Array(64 * 64 * 3)
  for (let y = 0; y < 64; y++) for (let x = 0; x < 64; x++) rgb.fill(shade(x / 63, y / 63), (y * 64 + x) * 3, (y * 64 + x) * 3 + 3)
  return { size: 64, rgb }
}

describe('perceptual hashes', () => {
  /** Other versions of the decoder may move a few values: so many bits may differ. */
  const tolerance = 2
  const golden: readonly [name: string, expected: PerceptualHashes][] = [
    ['ok.jpg', { aHash: '0000707771f1f9ff', dHash: 'ffcfc7e7f1f1f7ff', pHash: '2a6ed56ad188878f', flat: false }],
    ['avif-named.jpg', { aHash: '0000307779f9f9ff', dHash: 'ffefc7c7f3f1f3ff', pHash: '2a7ed56a918c870f', flat: false }],
    ['exif-orient6.jpg', { aHash: 'e0fcfcfce08888f8', dHash: '0008080010303800', pHash: '85d27a827ec97b81', flat: false }],
    ['alpha-logo-ring.png', { aHash: 'ffc3c19999d9c3e7', dHash: '4e0e33333333170e', pHash: '0d4f343c7332cb53', flat: false }],
  ]
  for (const [name, expected] of golden) {
    test(`of ${name} are what they were in every earlier version, or rows of old crawls would not match`, async () => {
      const hashes = await hashesOf(name)
      for (const key of ['aHash', 'dHash', 'pHash'] as const) {
        const distance = hammingDistance(hashes[key], expected[key])
        assert.ok(distance <= tolerance, `${key} is ${hashes[key]}, ${distance} bits from ${expected[key]}`)
      }
      assert.equal(hashes.flat, expected.flat)
    })
  }

  test('of a painted thumbnail are exact', () => {
    const hashes = hashThumbnail(paint((x, y) => 255 * (x + y > 1 ? x * x : y)))
    assert.deepEqual(hashes, { aHash: '010103f7e7e7c787', dHash: '01070f070f1f3f7f', pHash: '017fc09fb0a7aca9', flat: false })
    assert.equal(hashThumbnail(paint((x) => 200 * x)).dHash, 'ffffffffffffffff')
    assert.equal(hashThumbnail(paint((x) => 200 - 200 * x)).dHash, '0000000000000000')
    assert.equal(hashThumbnail(paint((_, y) => (y < 0.5 ? 0 : 255))).aHash, '00000000ffffffff')
  })

  test('of copies are near, of other pictures far', async () => {
    const original = await hashesOf('ok.jpg')
    for (const copy of await Promise.all(['ok-half.jpg', 'ok-q20.jpg', 'progressive.jpg'].map(hashesOf))) {
      for (const key of ['aHash', 'dHash', 'pHash'] as const) assert.ok(hammingDistance(original[key], copy[key]) <= 5, key)
    }
    assert.ok(hammingDistance(original.pHash, (await hashesOf('exif-orient6.jpg')).pHash) > 20)
    assert.ok(hammingDistance((await hashesOf('rgb-16bit.png')).pHash, (await hashesOf('png-named.jpg')).pHash) <= 2)
  })

  const flat: readonly [name: string, thumbnail: Thumbnail][] = [
    ['a solid', paint(() => 180)],
    ['a solid with the noise of compression', paint((x, y) => 180 + ((x * 63 * 7 + y * 63 * 13) % 3))],
    ['a horizontal gradient', paint((x) => 255 * x)],
    ['a vertical gradient', paint((_, y) => 255 * y)],
    ['a diagonal gradient', paint((x, y) => 127 * (x + y))],
    ['a round gradient', paint((x, y) => Math.max(0, 255 - 400 * Math.hypot(x - 0.5, y - 0.5)))],
    ['a white page with a dot', paint((x, y) => (Math.hypot(x - 0.4, y - 0.6) < 0.02 ? 0 : 255))],
    ['a night sky with few stars', paint((x, y) => ((Math.round(x * 63) * 31 + Math.round(y * 63) * 17) % 97 === 0 ? 30 : 4))],
  ]
  for (const [name, thumbnail] of flat) {
    test(`say nothing of ${name}`, () => {
      assert.equal(hashThumbnail(thumbnail).flat, true)
    })
  }

  test('say something of a dim or soft picture', async () => {
    const path = join(import.meta.dirname, '..', 'fixtures', 'images', 'alpha-logo-ring.png')
    const small = sharp(path).flatten({ background: '#fff' }).resize(64, 64, { fit: 'fill' })
    const rgb = await small.linear(0.4, 10).blur(2).toColourspace('srgb').removeAlpha().raw().toBuffer()
    assert.equal(hashThumbnail({ size: 64, rgb }).flat, false)
  })

  test('two flat fixtures are told apart by their bytes alone', async () => {
    for (const name of ['solid-blue.png', 'solid-white.png', 'removed-placeholder.png']) {
      assert.equal((await hashesOf(name)).flat, true, name)
    }
  })
})

const anyHash = stringMatching(/^[0-9a-f]{16}$/)
const slowDistance = (a: string, b: string): number => (BigInt(`0x${a}`) ^ BigInt(`0x${b}`)).toString(2).replaceAll('0', '').length

test('hammingDistance counts differing bits', () => {
  check(property(anyHash, anyHash, (a, b) => hammingDistance(a, b) === slowDistance(a, b)))
})

/** A hash, and another one that differs in a few bits. */
const pairOfHashes = tuple(anyHash, array(nat(63), { maxLength: 12 })).map(([hash, flips]) => {
  const flipped = flips.reduce((bits, flip) => bits ^ (1n << BigInt(flip)), BigInt(`0x${hash}`))
  return { hash, query: flipped.toString(16).padStart(16, '0') }
})

function slowNearest(hashes: ReadonlyMap<number, string>, query: string, distance: number): SimilarImage | undefined {
  const all = Array.from(hashes, ([id, hash]) => ({ id, distance: slowDistance(hash, query) }))
  return all.filter((found) => found.distance <= distance).sort((a, b) => a.distance - b.distance || a.id - b.id)[0]
}

test('HashIndex finds what a comparison with every hash finds, while hashes come and go', () => {
  const entries = array(pairOfHashes, { minLength: 1, maxLength: 60 })
  check(
    property(entries, array(nat(59)), nat(16), (pairs, removed, distance) => {
      const index = new HashIndex()
      const left = new Map<number, string>()
      for (const [id, { hash }] of pairs.entries()) {
        index.add(id + 1, hash)
        left.set(id + 1, hash)
      }
      for (const id of removed) {
        index.delete(id)
        left.delete(id)
      }
      for (const { query } of pairs) assert.deepEqual(index.nearest(query, distance), slowNearest(left, query, distance))
      for (let id = 0; id < 61; id++) assert.equal(index.has(id), left.has(id))
    }),
  )
})

test('HashIndex grows', () => {
  const index = new HashIndex()
  const hashOf = (id: number): string => createHash('sha256').update(String(id)).digest('hex').slice(0, 16)
  for (let id = 1; id <= 5_000; id++) index.add(id, hashOf(id))
  for (const id of [1, 1_024, 1_025, 4_999]) assert.deepEqual(index.nearest(hashOf(id), 0), { id, distance: 0 })
})
