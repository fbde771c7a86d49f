import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { buildCatalog } from '../../framework/demo/catalog.ts'
import { renderPicture } from '../../framework/demo/pictures.ts'
import { type Origins, type Resource, resourceKey } from '../../framework/demo/resource.ts'
import { distance, type Hashes, hashFile } from './hashes.ts'

const origins: Origins = {
  gallery: 'http://127.0.0.1:1', cdn: 'http://127.0.0.2:1', slow: 'http://127.0.0.3:1', busy: 'http://127.0.0.4:1',
}

describe('pictures of the demo site', () => {
  const { resources, expected } = buildCatalog(origins)
  const hashes = new Map<string, Hashes>()
  const hashOf = (url: string): Hashes => hashes.get(resourceKey(url))!

  before(async () => {
    const pending = resources.entries()
    const hashPending = async () => {
      for (const [key, { body }] of pending) {
        if (body.kind === 'picture') hashes.set(key, await hashFile(await renderPicture(body.picture, body.edition)))
      }
    }
    await Promise.all([hashPending(), hashPending(), hashPending()])
  })

  test('no two pictures are alike, by pHash or by dHash', () => {
    const bases = [...onePerPicture(resources)]
    assert.ok(bases.length >= 250, `only ${bases.length} pictures`)
    for (const [index, a] of bases.entries()) {
      for (const b of bases.slice(0, index)) {
        const pBits = distance(hashOf(a).pHash, hashOf(b).pHash)
        const dBits = distance(hashOf(a).dHash, hashOf(b).dHash)
        assert.ok(pBits > 12 && dBits > 10, `${a} and ${b}: ${pBits} bits of pHash, ${dBits} of dHash`)
      }
    }
  })

  test('all files of one picture are within 5 bits of one another', () => {
    assert.ok(expected.groups.length > 80)
    for (const { id, members } of expected.groups) {
      for (const [index, a] of members.entries()) {
        for (const b of members.slice(0, index)) {
          const bits = distance(hashOf(a).pHash, hashOf(b).pHash)
          assert.ok(bits <= 5, `${id}: ${a} and ${b} are ${bits} bits apart`)
        }
      }
    }
  })

  test('pictures to be reviewed are 6 to 10 bits apart', () => {
    assert.equal(expected.reviews.length, 1)
    for (const [a, b] of expected.reviews) {
      const bits = distance(hashOf(a).pHash, hashOf(b).pHash)
      assert.ok(bits >= 6 && bits <= 10, `${a} and ${b} are ${bits} bits apart`)
    }
  })

  test('a picture gives the same bytes every time', async () => {
    const scenes = new Set<string>()
    for (const { body } of resources.values()) {
      if (body.kind !== 'picture' || scenes.has(body.picture.scene)) continue
      scenes.add(body.picture.scene)
      const [first, second] = [await renderPicture(body.picture, body.edition), await renderPicture(body.picture, body.edition)]
      assert.ok(first.equals(second), `two renderings of ${JSON.stringify(body.picture)} differ`)
    }
    assert.equal(scenes.size, 12)
  })
})

/** The URLs of the first file of each picture. */
function onePerPicture(resources: ReadonlyMap<string, Resource>): Iterable<string> {
  const urls = new Map<string, string>()
  for (const { url, body } of resources.values()) {
    if (body.kind !== 'picture' || body.edition.width < 100) continue
    const key = JSON.stringify(body.picture)
    if (!urls.has(key)) urls.set(key, url)
  }
  return urls.values()
}
