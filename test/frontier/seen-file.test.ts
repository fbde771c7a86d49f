import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { isCrawlError, Request } from 'orbweaver'
import { Fingerprinter } from '../../framework/engine/fingerprinter.ts'
import { scrapyFingerprint } from '../../framework/engine/scrapy-fingerprint.ts'
import type { EmbeddedFrontier } from '../../framework/frontier/embedded.ts'
import { exportSeen } from '../../framework/frontier/export-seen.ts'
import { importSeen } from '../../framework/frontier/import-seen.ts'
import { countPrepared } from '../../framework/frontier/inspect.ts'
import { loadSettings } from '../../framework/settings/load.ts'
import { open } from './open.ts'

const { dupeFilter } = loadSettings({}).settings
const requests = Array.from({ length: 50 }, (_, index) => new Request(`http://a.example/${index}`))
const sha1 = (text: string | number): string => createHash('sha1').update(String(text)).digest('hex')

/** Meets all `requests`, as a crawl does: fingerprints have the job's own seed and length. */
async function meet(frontier: EmbeddedFrontier, which = requests): Promise<void> {
  await frontier.add(which.map((request) => ({ request, fingerprint: fingerprintIn(frontier, request) })))
}

function fingerprintIn({ job: { seed, bits } }: EmbeddedFrontier, request: Request): string {
  return new Fingerprinter({ headers: [], seed, bits }).ofRequest(request)
}

const countKnown = (frontier: EmbeddedFrontier): number => requests.filter((request) => frontier.has(fingerprintIn(frontier, request), request.url)).length
const textOf = (path: string): string => [...exportSeen({ path, ttlMs: 0 })].join('')

function inFolder(body: (folder: string) => Promise<void>) {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'orbweaver-seen-'))
    try {
      await body(folder)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
}

/** Writes a file of fingerprints into the folder and imports it. */
function importText(folder: string, text: string, path = join(folder, 'spider.db')) {
  const file = join(folder, 'seen.txt')
  writeFileSync(file, text)
  return importSeen({ path, file })
}

describe('fingerprints as a file', () => {
  for (const bits of [64, 128] as const) {
    test(`${bits} bits: what a running job has met is known to a new one, which takes over its seed`, inFolder(async (folder) => {
      const running = open(join(folder, 'running.db'), { dupeFilter: { ...dupeFilter, bits } })
      await meet(running)
      const text = textOf(join(folder, 'running.db'))
      await running.close()
      const lines = text.split('\n')
      assert.equal(lines[0], `# orbweaver seen 1 bits=${bits} seed=${running.job.seed.toString(16).padStart(16, '0')}`)
      assert.deepEqual(lines.slice(1, -1), requests.map((request) => fingerprintIn(running, request)))

      assert.deepEqual(await importText(folder, text), { format: 'orbweaver', read: 50, imported: 50, isBegun: false })
      assert.equal(countPrepared(join(folder, 'spider.db')), 50)
      const next = open(join(folder, 'spider.db'))
      assert.deepEqual([next.job.resumed, next.job.seed, next.job.bits, countKnown(next), next.distinct().count], [false, running.job.seed, bits, 50, 50])
      await next.close()
    }))
  }

  test('a job that has begun takes what it does not know, if seed and length are its own, and nothing else', inFolder(async (folder) => {
    const path = join(folder, 'spider.db')
    const first = open(path)
    await meet(first, requests.slice(0, 10))
    await first.close()
    const header = textOf(path).split('\n')[0] ?? ''
    const all = requests.map((request) => fingerprintIn(first, request))
    const twice = `${[header, ...all, ...all].join('\n')}\n`
    assert.deepEqual(await importText(folder, twice), { format: 'orbweaver', read: 100, imported: 40, isBegun: true })
    assert.equal((await importText(folder, twice)).imported, 0)

    const otherSeed = twice.replace(/seed=\S+/, 'seed=0123456789abcdef')
    const otherBits = [header.replace('bits=64', 'bits=128'), ...all.map((fingerprint) => fingerprint.repeat(2))].join('\n')
    await assert.rejects(importText(folder, otherSeed), (error: Error) => isCrawlError(error, 'settings') && /made with another seed .* begun/.test(error.message))
    await assert.rejects(importText(folder, otherBits), /have 128 bits, and those of this job 64/)
    const next = open(path)
    assert.deepEqual([next.job.resumed, countKnown(next), next.counts().pending], [true, 50, 10])
    await next.close()
  }))

  test('of a job that has ended a new one is made, as the next run would', inFolder(async (folder) => {
    const path = join(folder, 'spider.db')
    const first = open(path)
    await first.end('finished', true)
    await first.close()
    const text = `# orbweaver seen 1 bits=64 seed=${'ab'.repeat(8)}\n${'0'.repeat(16)}\n`
    assert.equal((await importText(folder, text)).isBegun, false)
    const next = open(path)
    assert.deepEqual([next.job.resumed, next.job.seed, next.has('0'.repeat(16), 'http://a.example/')], [false, BigInt(`0x${'ab'.repeat(8)}`), true])
    await next.close()
  }))

  test('a job that runs is exported from, but not imported into', inFolder(async (folder) => {
    const running = open(join(folder, 'spider.db'))
    await assert.rejects(importText(folder, `${sha1(1)}\n`), (error: Error) => isCrawlError(error, 'storage') && error.message.includes(`in use by process ${process.pid}`))
    await running.close()
    assert.throws(() => textOf(join(folder, 'none.db')), (error: Error) => isCrawlError(error, 'storage'))
  }))

  test('what is older than the time to live is not exported', inFolder(async (folder) => {
    const path = join(folder, 'spider.db')
    const first = open(path, { dupeFilter: { ...dupeFilter, ttlMs: 86_400_000 } })
    await meet(first)
    await first.close()
    assert.equal([...exportSeen({ path, ttlMs: 86_400_000 })].join('').split('\n').length, 52)
    assert.equal([...exportSeen({ path, ttlMs: -10_000 })].join('').split('\n').length, 2)
  }))
})

describe("Scrapy's requests.seen", () => {
  test('lines of any system, in capitals and with blank ones between; each once', inFolder(async (folder) => {
    const text = `\u{feff}${sha1(1)}\r\n${sha1(2).toUpperCase()}\r\r\n\n  ${sha1(3)}  \n${sha1(1)}\n${sha1(4)}`
    assert.deepEqual(await importText(folder, text), { format: 'scrapy', read: 5, imported: 4, isBegun: false })
    assert.deepEqual(await importText(folder, `${sha1(4)}\n${sha1(5)}\n`), { format: 'scrapy', read: 2, imported: 1, isBegun: false })
    const frontier = open(join(folder, 'spider.db'))
    assert.deepEqual([0, 1, 2, 3, 4, 5].map((number) => frontier.hasImported(sha1(number))), [false, true, true, true, true, true])
    await frontier.close()
  }))

  test('a file of many readings is read whole, wherever a reading ends', inFolder(async (folder) => {
    const lines = Array.from({ length: 20_000 }, (_, index) => sha1(index))
    assert.equal((await importText(folder, lines.join('\r\n'))).imported, 20_000)
    const frontier = open(join(folder, 'spider.db'))
    assert.ok(lines.every((line) => frontier.hasImported(line)))
    await frontier.close()
    lines[15_000] = 'no fingerprint'
    lines[19_000] = 'f'.repeat(1_000_000)
    await assert.rejects(importText(folder, lines.join('\r\n')), /2 lines that are no fingerprint .*: line 15001 is "no fingerprint"\./)
  }))

  test('of a file with a line that is none nothing is imported, and no job is made', inFolder(async (folder) => {
    const wrong: readonly (readonly [text: string, message: RegExp])[] = [
      [`${sha1(1)}\n${sha1(2).slice(1)}\n`, /a line that is no fingerprint of 40 hexadecimal digits.*: line 2 is "/],
      [`# orbweaver seen 1 bits=64 seed=${'0'.repeat(16)}\n${sha1(1)}\n`, /no fingerprint of 16 hexadecimal digits, as its first line says: line 2/],
      ['# orbweaver seen 2 bits=64 seed=0000000000000000\n', /has format 2 .* knows 1/],
      ['# orbweaver seen 1 bits=32 seed=1\n', /first line of .* is damaged/],
    ]
    for (const [text, message] of wrong) {
      await assert.rejects(importText(folder, text), (error: Error) => isCrawlError(error, 'settings') && message.test(error.message), text)
    }
    assert.equal(existsSync(join(folder, 'spider.db')), false)
    await assert.rejects(importSeen({ path: join(folder, 'spider.db'), file: folder }), /is no file/)
    await assert.rejects(importSeen({ path: join(folder, 'spider.db'), file: join(folder, 'none') }), /can't be read/)
  }))

  const vectors = JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures/scrapy_fingerprint.json'), 'utf8')) as readonly {
    readonly id: string
    readonly request: { readonly url: string; readonly method?: string; readonly body?: string; readonly keepFragment?: boolean }
    readonly sha1: string
    readonly note?: string
    /** Why ours is another: such a page is fetched once more. */
    readonly ours?: string
  }[]
  for (const { id, request: { url, ...options }, sha1: expected, note, ours } of vectors) {
    test(`${id}: the SHA-1 of ${note ?? url} is ${ours === undefined ? "Scrapy's" : `another: ${ours}`}`, () => {
      const own = scrapyFingerprint(new Request(url, options))
      if (ours === undefined) assert.equal(own, expected)
      else assert.notEqual(own, expected)
    })
  }
})
