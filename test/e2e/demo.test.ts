import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { run, type RunOptions, type RunSummary } from 'orbweaver'
import { spawnSite, type SiteProcess } from '../../framework/demo/process.ts'
import Gallery from '../../spiders/gallery.ts'
import project from '../../settings.ts'
import { findPostgres, noPostgres } from '../postgres.ts'
import { checkFiles, checkRows, demoSettings, figuresOf, readFiles, readRows } from './harvest.ts'

describe('the demo site, crawled from end to end', () => {
  const folders: string[] = []
  let site: SiteProcess
  let first: RunSummary
  let dataDir: string

  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'orbweaver-demo-'))
    folders.push(folder)
    return folder
  }
  const crawl = (folder: string, options: Partial<RunOptions> = {}): Promise<RunSummary> =>
    run({ name: 'gallery', spider: Gallery, project, args: { site: site.url }, environment: {}, ...options, settings: { ...demoSettings, dataDir: folder, ...options.settings } })

  before(async () => {
    site = await spawnSite({ port: 0 })
    dataDir = newFolder()
    first = await crawl(dataDir)
  })
  after(async () => {
    await site.close()
    for (const folder of folders) rmSync(folder, { recursive: true })
  })

  test('ends with the rows and files that the site is known to hold', () => {
    assert.equal(first.reason, 'finished')
    const rows = readRows(dataDir)
    checkRows(rows, site.expected)
    checkFiles(dataDir, rows)
  })

  test('reports each figure as it is', () => {
    const { expected } = site
    const figures = figuresOf(first)
    assert.equal(figures.pages, expected.pages.length)
    assert.deepEqual({ dropped: 0, failed: 0, ...figures.images }, expected.totals)
    const exact = expected.groups.filter(({ reason }) => reason === 'exact duplicate').reduce((sum, { members }) => sum + members.length - 1, 0)
    assert.equal(figures.exact, exact)
    assert.deepEqual(first.left, { pending: 0, delayed: 0, leased: 0, failed: first.left.failed })
    const failedPages = first.outcomes.filter(({ kind, state, reason }) => kind === 'page' && state === 'ignored' && reason !== 'off site' && reason !== 'redirected to a known page')
    const counts: Record<string, number> = {}
    for (const { reason } of expected.failedPages) counts[reason] = (counts[reason] ?? 0) + 1
    assert.deepEqual(Object.fromEntries(failedPages.map(({ reason, count }) => [reason, count])), counts)
  })

  test('asks for nothing that robots.txt forbids, and once for what has many spellings', async () => {
    const requests = await site.requests()
    for (const url of site.expected.neverRequested) assert.equal(requests[`GET ${url}`], undefined, url)
    for (const url of site.expected.requestedOnce) assert.equal(requests[`GET ${url}`], 1, url)
  })

  test('a second run reads the pages again and downloads no image that is kept or refused', async () => {
    const before = await site.requests()
    const second = await crawl(dataDir)
    const now = await site.requests()
    assert.equal(second.resumed, false)
    assert.equal(second.reason, 'finished')
    assert.deepEqual(figuresOf(second).images, figuresOf(first).images)
    const settled = readRows(dataDir).filter(({ status }) => status === 'downloaded' || status === 'duplicate')
    const asked = settled.filter(({ url }) => now[`GET ${url}`] !== before[`GET ${url}`])
    assert.deepEqual(asked.map(({ url }) => url), [])
    assert.equal(second.stats['images/downloaded'], undefined)
    checkFiles(dataDir, readRows(dataDir))
  })

  test('stopped gracefully in the middle, it goes on where it stopped', async () => {
    const folder = newFolder()
    const stopping = new AbortController()
    let stored = 0
    const stopped = await crawl(folder, {
      stopping: stopping.signal,
      onOpen: ({ signals }) => void signals.on('item_stored', () => void (++stored === 40 && stopping.abort())),
    })
    assert.equal(stopped.reason, 'stopped')
    assert.equal(stopped.left.leased, 0)
    assert.ok(stopped.left.pending > 0)
    const before = readFiles(folder)
    const resumed = await crawl(folder)
    assert.equal(resumed.resumed, true)
    assert.deepEqual(figuresOf(resumed), figuresOf(first))
    checkRows(readRows(folder), site.expected)
    assert.ok(before.length >= 10)
  })

  test('with rows in PostgreSQL it ends with the same figures', async (context) => {
    const server = await findPostgres()
    if (server === undefined) return context.skip(noPostgres)
    const database = await server.createDatabase()
    try {
      const summary = await crawl(newFolder(), { environment: { DATABASE_URL: database.url } })
      assert.equal(summary.reason, 'finished')
      assert.deepEqual(figuresOf(summary), figuresOf(first))
      assert.ok(!summary.database.includes('password') && summary.database.startsWith('postgres'))
    } finally {
      await database.drop()
      await server.close()
    }
  })
})
