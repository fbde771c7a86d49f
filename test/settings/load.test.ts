import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SettingsError } from 'orbweaver'
import { describeSettings, loadSettings } from '../../framework/settings/load.ts'

const problem = (sources: Parameters<typeof loadSettings>[0]): string => {
  try {
    loadSettings(sources)
  } catch (error) {
    assert.ok(error instanceof SettingsError)
    return error.message
  }
  assert.fail('it was accepted')
}

describe('settings', () => {
  test('later sources win, and each value tells where it came from', () => {
    const { settings, origins } = loadSettings({
      project: { slot: { delayMs: 1, concurrency: 3, jitter: 0 } },
      spider: { slot: { delayMs: 2, concurrency: 4 } },
      environment: { CRAWL_SLOT_DELAY_MS: '3' },
      commandLine: { 'slot.delayMs': '4s' },
    })
    const { delayMs, concurrency, jitter } = settings.slot
    assert.deepEqual({ delayMs, concurrency, jitter }, { delayMs: 4_000, concurrency: 4, jitter: 0 })
    const origin = (path: string) => origins.find((entry) => entry.path === path)?.origin
    assert.equal(origin('slot.delayMs'), 'command line')
    assert.equal(origin('slot.concurrency'), 'spider')
    assert.equal(origin('slot.jitter'), 'settings.ts')
    assert.equal(origin('concurrency'), 'default')
  })

  test('durations and sizes may be written as people write them', () => {
    const { settings } = loadSettings({ commandLine: { 'timeout.totalMs': '2m', 'pages.maxBytes': '5MB', 'images.maxBytes': '1GiB' } })
    assert.equal(settings.timeout.totalMs, 120_000)
    assert.equal(settings.pages.maxBytes, 5_000_000)
    assert.equal(settings.images.maxBytes, 2 ** 30)
  })

  test('a duration longer than timers can be set to is refused', () => {
    assert.equal(loadSettings({ commandLine: { 'timeout.totalMs': '24d' } }).settings.timeout.totalMs, 2_073_600_000)
    assert.match(problem({ commandLine: { 'timeout.totalMs': '25d' } }), /timeout\.totalMs can't be "25d" \(command line\): must be at most 24 days/)
    assert.match(problem({ spider: { limits: { timeMs: 2 ** 31 } } }), /limits\.timeMs.*must be at most 24 days/)
  })

  test('lists and switches come from text', () => {
    const { settings } = loadSettings({ commandLine: { 'images.formats': 'png, webp', 'retry.statuses': '500,503', 'robots.obey': 'false', contact: '123' } })
    assert.deepEqual(settings.images.formats, ['png', 'webp'])
    assert.deepEqual(settings.retry.statuses, [500, 503])
    assert.equal(settings.robots.obey, false)
    assert.equal(settings.contact, '123')
  })

  test('settings of some hosts come from settings.ts, or as JSON from text, and are checked', () => {
    const { settings, origins } = loadSettings({ project: { hosts: { 'a.example': { delayMs: '2s' } } }, commandLine: { hosts: '{"*.b.example":{"concurrency":1}}' } })
    assert.deepEqual(settings.hosts, { 'a.example': { delayMs: 2_000 }, '*.b.example': { concurrency: 1 } })
    assert.equal(origins.find(({ path }) => path === 'hosts')?.origin, 'settings.ts')
    assert.throws(() => loadSettings({ project: { hosts: { 'a.example': { delay: 1 } as object } } }), /"hosts\.a\.example\.delay" \(settings\.ts\)\. Did you mean "hosts\.a\.example\.delayMs"/)
    assert.throws(() => loadSettings({ project: { hosts: { 'a*b.example': {} } } }), /"a\*b\.example"/)
    assert.throws(() => loadSettings({ commandLine: { hosts: '{oops' } }), /setting hosts can't be "\{oops"/)
    assert.deepEqual(loadSettings({ commandLine: { 'queue.priorities': '[{"url":"/a*","priority":3}]' } }).settings.queue.priorities, [{ url: '/a*', priority: 3 }])
  })

  test('DATABASE_URL is the database', () => {
    assert.equal(loadSettings({ environment: { DATABASE_URL: 'postgresql://h/d' } }).settings.database, 'postgresql://h/d')
  })

  test('an unknown name is refused with the nearest right one and its origin', () => {
    assert.match(problem({ project: { slot: { delayMS: 1 } } as never }), /"slot\.delayMS" \(settings\.ts\).*"slot\.delayMs"/)
    assert.match(problem({ commandLine: { 'slot.delay': '1' } }), /command line.*slot\.delayMs/)
    assert.match(problem({ commandLine: { delayMs: '1' } }), /slot\.delayMs/)
    assert.match(problem({ environment: { CRAWL_CONCURENCY: '1' } }), /CRAWL_CONCURRENCY/)
  })

  test('a bad value is refused with its origin and what is allowed; all problems come at once', () => {
    const message = problem({ environment: { CRAWL_CONCURRENCY: 'many' }, commandLine: { 'timeout.totalMs': 'soon', 'dedupe.hash': 'xHash' } })
    assert.match(message, /concurrency can't be "many" \(CRAWL_CONCURRENCY\)/)
    assert.match(message, /timeout\.totalMs can't be "soon" \(command line\): must be milliseconds/)
    assert.match(message, /dedupe\.hash.*pHash/)
  })

  test('what is loaded can’t be changed', () => {
    const { settings } = loadSettings({})
    assert.throws(() => ((settings.slot as { delayMs: number }).delayMs = 0), TypeError)
  })

  test('every setting has a meaning and a variable of its own', () => {
    const described = describeSettings()
    assert.deepEqual(described.filter(({ description }) => description === ''), [])
    assert.equal(new Set(described.map(({ variable }) => variable)).size, described.length)
  })
})
