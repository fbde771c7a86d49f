import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RunSummary } from 'orbweaver'
import { exitCodeOfError, exitCodeOfRun } from '../../framework/cli/exit-code.ts'
import { formatBytes, formatDuration } from '../../framework/cli/format.ts'
import { renderReport } from '../../framework/cli/report.ts'
import { SettingsError, StorageError } from '../../framework/errors.ts'
import { schema } from '../../framework/settings/schema.ts'

const summary: RunSummary = {
  spider: 'gallery',
  reason: 'finished',
  resumed: false,
  durationMs: 10_000,
  outcomes: [
    { kind: 'page', state: 'done', reason: '', count: 1_234 },
    { kind: 'page', state: 'ignored', reason: 'http 404', count: 3 },
    { kind: 'page', state: 'ignored', reason: 'robots', count: 2 },
    { kind: 'page', state: 'failed', reason: 'timeout', count: 1 },
    { kind: 'image', state: 'done', reason: '', count: 44 },
    { kind: 'image', state: 'retry', reason: 'http 429', count: 7 },
  ],
  images: [
    { status: 'downloaded', reason: '', count: 40, bytes: 38_200_000 },
    { status: 'duplicate', reason: 'exact', count: 3, bytes: 0 },
    { status: 'duplicate', reason: 'near', count: 1, bytes: 0 },
    { status: 'dropped', reason: 'too small', count: 9, bytes: 0 },
    { status: 'failed', reason: 'truncated', count: 1, bytes: 0 },
  ],
  stats: { 'images/done': 44, 'images/downloaded': 40, 'images/dropped': 9, 'images/wireBytes': 39_000_000, 'pages/done': 1_234, 'pages/wireBytes': 1_000_000, 'dedupe/review': 2 },
  left: { pending: 0, delayed: 0, leased: 0, failed: 1 },
  distinct: { count: 1_290, error: 0 },
  files: '/somewhere/data/images',
  database: 'postgresql://me@db.example:5432/pictures',
  frontier: '/somewhere/data/frontier/gallery.db',
  settings: schema.parse({}),
}

describe('the report of a run', () => {
  test('shows every count with its reasons, and where everything is', () => {
    assert.equal(renderReport(summary, { next: [['npx crawl status gallery', 'what has been kept'], ['npx crawl run gallery', 'looks for what is new']] }), `gallery finished in 10 s

pages        1,234  done
                 5  ignored: 3 http 404, 2 robots
                 1  failed: 1 timeout
images          40  downloaded, 38 MB
                 3  exact duplicates, not kept
                 1  duplicates to the eye, not kept
                 2  kept, nearly the same as another: to be reviewed
                 9  dropped: 9 too small
                 1  failed: 1 truncated
requests         7  tried again: 7 http 429
links        1,290  different URLs met
rate      123 pages/s · 5.3 images/s · 4.0 MB/s · 40 MB received

files     /somewhere/data/images
database  postgresql://me@db.example:5432/pictures
next      npx crawl status gallery  what has been kept
          npx crawl run gallery     looks for what is new
`)
  })

  test('is at most 100 columns wide, however many reasons there are', () => {
    const outcomes = Array.from({ length: 30 }, (_, index) => ({ kind: 'page' as const, state: 'failed' as const, reason: `a reason of many words, number ${index}`, count: 30 - index }))
    const report = renderReport({ ...summary, outcomes }, { next: [[`npx crawl run gallery -a ${'x'.repeat(60)}`, 'goes on where it stopped']] })
    for (const line of report.split('\n')) assert.ok(line.length <= 100, line)
    assert.match(report, /30 a reason of many words, number 0,/)
    assert.match(report, /253 others/)
  })

  test("does not pass on a page's escape sequences", () => {
    const hostile = 'gone\x1b]0;owned\x07\x1b[2J\u202e\r\nfake line'
    const report = renderReport({ ...summary, outcomes: [{ kind: 'page', state: 'failed', reason: hostile, count: 1 }] })
    assert.match(report, /failed: 1 gone\]0;owned\[2J fake line/)
    assert.doesNotMatch(report, /[^\P{C}\n]/u)
  })

  test('says how an unfinished run ended and what is left', () => {
    const left = { pending: 12, delayed: 5, leased: 0, failed: 0 }
    const firstLine = (changes: Partial<RunSummary>) => renderReport({ ...summary, left, ...changes }).split('\n')[0]
    assert.equal(firstLine({ reason: 'stopped' }), 'gallery stopped after 10 s, 12 requests left')
    assert.equal(firstLine({ reason: 'limit', limit: 'limits.images' }), 'gallery stopped by limits.images after 10 s, 12 requests left')
    assert.equal(firstLine({ reason: 'blocked' }), 'gallery stopped after 10 s: every host that is left asks for patience, 12 requests left')
    assert.match(renderReport({ ...summary, left, reason: 'stopped' }), /12 {2}left to do, 5 of them not before later/)
  })

  test('says until when a blocked run waits, and that a count of URLs is an estimate', () => {
    const waitsUntil = new Date(2031, 0, 31, 14, 20).getTime()
    const report = renderReport({ ...summary, reason: 'blocked', left: { pending: 12, delayed: 0, leased: 0, failed: 0 }, distinct: { count: 5_000_000, error: 0.00813 } }, { waitsUntil })
    assert.match(report, /^ +12 {2}wait until 2031-01-31 14:20 or later: the next run takes them up$/m)
    assert.match(report, /^links +5,000,000 {2}different URLs met, about: ± 0\.8 %$/m)
  })

  test('says it when no page could be read', () => {
    const outcomes = [{ kind: 'page' as const, state: 'failed' as const, reason: 'refused', count: 1 }]
    assert.match(renderReport({ ...summary, outcomes, images: [], stats: {} }), /^No page could be read\.$/m)
  })
})

test('exit codes follow how a run ended', () => {
  const code = (changes: Partial<RunSummary>, signal?: NodeJS.Signals) => exitCodeOfRun({ ...summary, ...changes }, signal)
  const expecting = (images: number) => ({ settings: schema.parse({ expect: { images } }) })
  assert.deepEqual([code(expecting(40)), code(expecting(41))], [0, 3])
  assert.deepEqual([code({ reason: 'limit' }), code({ reason: 'blocked' }), code({ outcomes: [] })], [4, 5, 3])
  assert.deepEqual([code({ reason: 'stopped' }, 'SIGINT'), code({ reason: 'stopped' }, 'SIGTERM')], [130, 143])
  assert.deepEqual([new SettingsError('x'), new StorageError('x'), new TypeError('x'), new AggregateError([new TypeError('x'), new StorageError('x')])].map(exitCodeOfError), [2, 6, 1, 6])
})

test('figures are written as people write them', () => {
  assert.deepEqual([0, 999, 1_000, 9_940, 99_400, 999_400, 999_600, 4.56e9, 1.2e13].map(formatBytes), ['0 B', '999 B', '1.0 kB', '9.9 kB', '99 kB', '999 kB', '1.0 MB', '4.6 GB', '12.0 TB'])
  assert.deepEqual([5, 1_000, 9_840, 59_400, 59_600, 125_000, 3_599_600, 11_520_000, 187_200_000].map(formatDuration), ['5 ms', '1 s', '9.8 s', '59 s', '1 min', '2 min 5 s', '1 h', '3 h 12 min', '2 d 4 h'])
})
