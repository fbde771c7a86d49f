import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { Request } from '../../framework/http/request.ts'
import type { ImageResponse, PageResponse } from '../../framework/http/response.ts'
import { openCrawl, type TestCrawl } from '../middlewares/crawl.ts'
import { serve, type TestServer } from './server.ts'

const text = Array.from({ length: 20_000 }, (_, index) => `line ${index} ${(index * 7919) % 1000}\n`).join('')
const plain = Buffer.from(text)
const gzip = gzipSync(plain)
const noise = randomBytes(600_000)
const corrupt = Buffer.from(gzip)
corrupt.fill(0xff, corrupt.length >> 1, (corrupt.length >> 1) + 8)
const damagedSum = Buffer.from(gzip)
damagedSum.fill(0, damagedSum.length - 8)
const bomb = Buffer.alloc(16_000_000)

const bodies: Record<string, readonly [encoding: string, body: Buffer]> = {
  gzip: ['gzip', gzip],
  'x-gzip, in capitals': ['X-GZIP', gzip],
  'deflate with its header': ['deflate', deflateSync(plain)],
  'deflate without': ['deflate', deflateRawSync(plain)],
  brotli: ['br', brotliCompressSync(plain)],
  'gzip in brotli': ['gzip, br', brotliCompressSync(gzip)],
  'three layers': ['gzip,identity, deflate , gzip', gzipSync(deflateSync(gzip))],
  identity: ['identity', plain],
  'a word that is no coding': ['utf-8', plain],
  'garbage after the end': ['gzip', Buffer.concat([gzip, Buffer.from('\0\0\0garbage')])],
}

const broken: Record<string, readonly [encoding: string, body: Buffer, reason: string, transient: boolean]> = {
  'a cut gzip': ['gzip', gzip.subarray(0, gzip.length - 100), 'bad encoding', true],
  'a gzip without its trailer': ['gzip', gzip.subarray(0, gzip.length - 8), 'bad encoding', true],
  'a damaged gzip': ['gzip', corrupt, 'bad encoding', true],
  'a gzip with a wrong checksum': ['gzip', damagedSum, 'bad encoding', true],
  'a cut brotli': ['br', brotliCompressSync(plain).subarray(0, 500), 'bad encoding', true],
  'a large gzip that is cut': ['gzip', gzipSync(noise).subarray(0, 400_000), 'bad encoding', true],
  'plain text that is said to be gzip': ['gzip', plain, 'bad encoding', false],
  zstd: ['zstd', plain, 'bad encoding', false],
  'four layers': ['gzip, gzip, gzip, gzip', gzip, 'bad encoding', false],
  'a gzip bomb': ['gzip', gzipSync(bomb), 'too large', false],
  'a brotli bomb': ['br', brotliCompressSync(bomb), 'too large', false],
  'a bomb in a bomb': ['gzip, gzip', gzipSync(gzipSync(bomb)), 'too large', false],
}

describe('content encodings', () => {
  let server: TestServer
  let crawl: TestCrawl
  before(async () => {
    crawl = await openCrawl({ settings: { pages: { maxBytes: 1_000_000 }, images: { maxBytes: 1_000_000 } } })
    server = await serve((request, response) => {
      const name = decodeURIComponent(request.url?.slice(1) ?? '')
      const large = name === 'large' ? gzipSync(noise) : Buffer.alloc(0)
      const [encoding, body] = bodies[name] ?? broken[name] ?? ['gzip', large]
      response.writeHead(200, { 'content-encoding': encoding })
      // In small pieces, so that headers and layers are split anywhere.
      for (let start = 0; start < body.length; start += 1021) response.write(body.subarray(start, start + 1021))
      response.end()
    })
  })
  after(async () => {
    await crawl.close()
    await server.close()
  })

  for (const [name, [, body]] of Object.entries(bodies)) {
    test(`undoes ${name}`, async () => {
      const url = `${server.url}/${encodeURIComponent(name)}`
      const page = (await crawl.fetch(url)) as PageResponse
      assert.equal(page.text, text)
      assert.ok(page.wireBytes <= body.length && page.wireBytes > 0)
      const image = (await crawl.fetch(new Request(url, { kind: 'image' }))) as ImageResponse
      assert.deepEqual(await readFile(image.path), plain)
      await rm(image.path)
    })
  }

  test('undoes a large body', async () => {
    const page = (await crawl.fetch(`${server.url}/large`)) as PageResponse
    assert.deepEqual(page.body, noise)
    assert.ok(page.wireBytes > noise.length)
  })

  test('an empty body is empty in any coding', async () => {
    assert.equal(((await crawl.fetch(`${server.url}/empty`)) as PageResponse).body.length, 0)
  })

  for (const [name, [, , reason, transient]] of Object.entries(broken)) {
    test(`refuses ${name}, and leaves no file`, async () => {
      for (const kind of ['page', 'image'] as const) {
        const request = new Request(`${server.url}/${encodeURIComponent(name)}`, { kind })
        await assert.rejects(crawl.fetch(request), { code: 'download', reason, transient })
      }
      assert.deepEqual(await crawl.temporaryFiles(), [])
      assert.deepEqual(crawl.slots.states().filter(({ active }) => active > 0), [])
    })
  }
})
