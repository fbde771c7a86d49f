import assert from 'node:assert/strict'
import { join } from 'node:path'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import Database from 'libsql'
import { ExactDupeFilter } from '../../framework/dupe-filter/exact.ts'
import { fingerprintParts } from '../../framework/dupe-filter/fingerprint-parts.ts'
import { Generations } from '../../framework/dupe-filter/generations.ts'
import { OnDiskDupeFilter } from '../../framework/dupe-filter/on-disk.ts'
import { openDupeFilter, type DupeFilterOptions } from '../../framework/dupe-filter/open.ts'
import { makeFingerprints } from './fingerprints.ts'

const url = 'http://a.example/'
const hour = 3_510_000

const open = (options: Partial<DupeFilterOptions>) =>
  openDupeFilter({
    kind: 'memory',
    bits: 64,
    capacity: 10_000,
    errorRate: 0.001,
    per: 'job',
    ttlMs: 0,
    onGrown: () => assert.fail('grown'),
    ...options,
  })

test('a fingerprint is known for its time to live, and at most a quarter longer', () => {
  let now = 1_000 * hour
  const filter = new Generations({ ttlMs: 4 * hour, make: () => new ExactDupeFilter(), now: () => now })
  const [early = '', late = ''] = makeFingerprints(1, 2)
  now += hour / 2
  assert.equal(filter.period, 1_000)
  assert.equal(filter.add(early, url), true)
  now += 4 * hour
  assert.equal(filter.oldest, 1_000)
  assert.equal(filter.add(early, url), false)
  assert.equal(filter.add(late, url), true)
  assert.equal(filter.size, 2)
  now += hour / 2
  assert.equal(filter.has(early, url), false)
  assert.equal(filter.size, 1)
  assert.equal(filter.has(late, url), true)
  assert.equal(filter.add(early, url), true)
  now += 100 * hour
  assert.equal(filter.size, 0)
  assert.equal(filter.bytes, 0)
  assert.equal(filter.add(late, url), true)
})

test('a clock that is set back makes nothing new again', () => {
  let now = 1_000 * hour
  const filter = new Generations({ ttlMs: 4 * hour, make: () => new ExactDupeFilter(), now: () => now })
  const [one = '', two = ''] = makeFingerprints(1, 2)
  filter.add(one, url)
  now -= 500 * hour
  assert.equal(filter.period, 1_000)
  assert.equal(filter.add(one, url), false)
  assert.equal(filter.add(two, url), true)
})

test('stored fingerprints are known from their own period on, and expired ones are left', () => {
  let now = 1_000 * hour
  const filter = open({ ttlMs: 4 * hour, now: () => now })
  const [expired = '', old = '', fresh = '', toCome = ''] = makeFingerprints(1, 4)
  const periods = new Map([[expired, 995], [old, 996], [fresh, 1_000], [toCome, 2_000]])
  for (const [one, period] of periods) {
    const [high, low] = fingerprintParts(one)
    filter.load(high, low, 0, 0, undefined, period)
  }
  assert.deepEqual([expired, old, fresh, toCome].map((one) => filter.has(one, url)), [false, true, true, true])
  assert.equal(filter.oldest, 996)
  now += hour
  assert.deepEqual([old, fresh, toCome].map((one) => filter.has(one, url)), [false, true, true])
  now += 4 * hour
  assert.deepEqual([fresh, toCome].map((one) => filter.has(one, url)), [false, false])
})

/** The table of the frontier, where what is added is written by `write`. */
function openTable() {
  const folder = mkdtempSync(join(tmpdir(), 'orbweaver-test-'))
  const database = new Database(join(folder, 'frontier.db'))
  database.exec('create table seen (n integer primary key, high integer, low integer, period integer)')
  database.exec('create index seen_fingerprint on seen (high, low)')
  const insert = database.prepare('insert into seen (high, low, period) values (?, ?, ?)')
  const find = database.prepare('select 1 from seen where high = ? and low = ? and period >= ?')
  let lookups = 0
  return {
    write: (fingerprint: string, period = 0) => void insert.run(...fingerprintParts(fingerprint), period),
    lookup: (fingerprint: string, oldest: number) => {
      lookups += 1
      return find.get(...fingerprintParts(fingerprint), oldest) !== undefined
    },
    countLookups: () => lookups,
    close: () => {
      database.close()
      rmSync(folder, { recursive: true })
    },
  }
}

test('on disk what waits to be written, what is written and what was there before are known', (t) => {
  const table = openTable()
  t.after(() => table.close())
  const [stored = '', added = '', unknown = ''] = makeFingerprints(1, 3)
  table.write(stored)
  const filter = new OnDiskDupeFilter({ lookup: table.lookup, stored: 1 })
  assert.equal(filter.has(stored), true)
  assert.equal(filter.add(added), true)
  assert.equal(filter.add(added), false)
  table.write(added)
  filter.written(added)
  const lookups = table.countLookups()
  assert.ok(filter.has(added) && filter.has(stored) && !filter.add(stored))
  assert.equal(table.countLookups(), lookups, 'known ones are remembered')
  assert.equal(filter.has(unknown), false)
  assert.equal(filter.size, 2)
})

test('on disk what is remembered is bounded, and what falls out is found in the table', () => {
  let lookups = 0
  const filter = new OnDiskDupeFilter({ lookup: () => (lookups += 1) > 0 })
  const stored = makeFingerprints(1, 510_000)
  let most = 0
  for (const [index, one] of stored.entries()) {
    filter.has(one)
    if (index % 10_000 === 0) most = Math.max(most, filter.bytes)
  }
  assert.ok(most < 9_000_000, `${most} bytes`)
  assert.equal(lookups, 510_000)
  assert.ok(filter.has(stored[0] ?? ''))
  assert.equal(lookups, 510_001)
})

test('on disk a time to live ends too, for what is remembered as well', (t) => {
  const table = openTable()
  t.after(() => table.close())
  let now = 1_000 * hour
  const filter = open({ kind: 'disk', ttlMs: 4 * hour, now: () => now, lookup: table.lookup })
  const [one = ''] = makeFingerprints(1, 1)
  assert.equal(filter.add(one, url), true)
  table.write(one, filter.period)
  filter.written(one)
  now += 4 * hour
  assert.equal(filter.has(one, url), true)
  now += hour
  assert.equal(filter.has(one, url), false)
  assert.equal(filter.add(one, url), true)
})

const kinds: Partial<DupeFilterOptions>[] = [
  { kind: 'memory' },
  { kind: 'memory', bits: 128 },
  { kind: 'bloom' },
  { kind: 'bloom', bits: 128 },
  { kind: 'bloom', per: 'host' },
  { kind: 'lossy-hyperloglog' },
  { kind: 'disk', lookup: () => false },
]

/** Of so many, five standard errors included. */
const mostOf = (count: number, rate: number): number => count * rate + 5 * Math.sqrt(count * rate)

for (const chosen of kinds) {
  for (const ttlMs of [0, hour]) {
    const traits = [chosen.bits === 128 && 'of 128 bits', chosen.per === 'host' && 'by host', ttlMs > 0 && 'with a time to live']
    const name = [chosen.kind, ...traits].filter(Boolean).join(' ')
    test(`${name}: forgets nothing, also over a restart, and loses no more than it says`, () => {
      const filter = open({ ...chosen, ttlMs })
      const rate = filter.isExact ? 0 : chosen.kind === 'bloom' ? 0.001 : 0.0052
      const all = makeFingerprints(1, 8_000, 32)
      const urlOf = (index: number) => `https://host-${index % 20}.example/${index}`
      const isNew = all.map((one, index) => filter.add(one, urlOf(index)))
      assert.ok(all.every((one, index) => filter.has(one, urlOf(index)) && !filter.add(one, urlOf(index))))
      const lost = isNew.filter((answer) => !answer).length
      assert.ok(lost <= mostOf(all.length, rate), `${lost} lost`)
      assert.equal(filter.size, all.length - lost)
      const { count, error } = filter.distinct()
      assert.equal(error, filter.isExact && ttlMs === 0 ? 0 : 0.0081)
      assert.ok(Math.abs(count / all.length - 1) <= 4 * error)
      assert.ok(filter.bytes > 0)
      if (chosen.kind === 'disk') return

      const resumed = open({ ...chosen, ttlMs })
      assert.equal(resumed.needsHost, chosen.per === 'host')
      all.forEach((one, index) => {
        const [high, low, high2 = 0, low2 = 0] = fingerprintParts(one)
        const host = resumed.needsHost ? `host-${index % 20}.example` : undefined
        if (isNew[index]) resumed.load(high, low, high2, low2, host, filter.period)
      })
      assert.ok(all.every((one, index) => resumed.has(one, urlOf(index))))
      assert.ok(Math.abs(resumed.distinct().count / all.length - 1) <= 0.033)
      const unknown = makeFingerprints(2, 20_000, 32).filter((one, index) => resumed.has(one, urlOf(index))).length
      assert.ok(unknown <= mostOf(20_000, rate), `${unknown} of 20,000 taken for known`)
    })
  }
}

test('that there are more URLs than room was promised for is said once, with the setting', () => {
  const growing = kinds.filter(({ kind, bits }) => (kind === 'bloom' && bits === undefined) || kind === 'lossy-hyperloglog')
  for (const chosen of growing.flatMap((kind) => [kind, { ...kind, ttlMs: hour }])) {
    const messages: string[] = []
    const filter = open({ ...chosen, capacity: 2_000, onGrown: (message) => messages.push(message) })
    const all = makeFingerprints(1, 9_000)
    all.slice(0, 2_000).forEach((one) => filter.add(one, url))
    assert.equal(messages.length, 0)
    all.slice(2_000).forEach((one) => filter.add(one, url))
    assert.equal(messages.length, 1)
    assert.match(messages[0] ?? '', /dupeFilter\.capacity, 2,000/)
  }
})

test('a Bloom filter with a time to live keeps its error rate over all its periods', () => {
  let now = 1_000 * hour
  const filter = open({ kind: 'bloom', ttlMs: 4 * hour, capacity: 20_000, errorRate: 0.01, now: () => now })
  const known = makeFingerprints(1, 20_000)
  known.forEach((one, index) => {
    if (index % 4_000 === 0) now += hour
    filter.add(one, url)
  })
  assert.ok(known.every((one) => filter.has(one, url)))
  const unknown = makeFingerprints(2, 100_000).filter((one) => filter.has(one, url)).length
  assert.ok(unknown <= 1_000 + 5 * Math.sqrt(1_000), `${unknown} of 100,000`)
})

test('a host of few URLs takes at most 2,500 bytes', () => {
  const filter = open({ kind: 'bloom', per: 'host' })
  const empty = filter.bytes
  const all = makeFingerprints(1, 1_000)
  all.forEach((one, index) => filter.add(one, `https://host-${index}.example/`))
  assert.ok((filter.bytes - empty) / all.length <= 2_500)
})

test('on disk it needs to be told how to look up', () => {
  assert.throws(() => open({ kind: 'disk' }), /needs a lookup/)
})
