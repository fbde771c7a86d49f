import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BloomDupeFilter, bloomBytes } from '../../framework/dupe-filter/bloom.ts'
import { DupeFilterByHost, hostOf } from '../../framework/dupe-filter/by-host.ts'
import { fingerprintParts } from '../../framework/dupe-filter/fingerprint-parts.ts'
import { makeFingerprints } from './fingerprints.ts'

/** Share of `asked` that the filter takes for known. */
const shareKnown = (filter: BloomDupeFilter, asked: readonly string[]): number =>
  asked.filter((one) => filter.has(one)).length / asked.length

test('its size is that of the formula', () => {
  assert.equal((bloomBytes(10_000_000, 0.001) / 1e6).toFixed(1), '18.0')
  assert.equal((bloomBytes(10_000_000, 0.01) / 1e6).toFixed(1), '12.0')
  assert.equal((bloomBytes(10_000_000, 0.0001) / 1e6).toFixed(1), '24.0')
  assert.equal((new BloomDupeFilter({ capacity: 10_000_000, errorRate: 0.001 }).bytes / 1e6).toFixed(1), '19.8')
})

const promises = [
  { capacity: 50_000, errorRate: 0.001 },
  { capacity: 20_000, errorRate: 0.01 },
  { capacity: 1_000, errorRate: 0.001 },
]

for (const { capacity, errorRate } of promises) {
  test(`made for ${capacity} at ${errorRate}, it forgets none and keeps its error rate there and at four times as many`, () => {
    let grown = 0
    const filter = new BloomDupeFilter({ capacity, errorRate, onGrown: () => (grown += 1) })
    const known = makeFingerprints(1, capacity * 4)
    const unknown = makeFingerprints(2, 200_000)
    // Five standard errors of a share measured over so many.
    const room = 5 * Math.sqrt(errorRate / unknown.length)
    known.slice(0, capacity).forEach((one) => filter.add(one))
    assert.ok(shareKnown(filter, unknown) <= errorRate / 2 + room)
    while (filter.size < capacity) filter.add(makeFingerprints(3 + filter.size, 1)[0] ?? '')
    assert.equal(grown, 0)
    known.slice(capacity).forEach((one) => filter.add(one))
    assert.equal(grown, 1)
    assert.equal(shareKnown(filter, known), 1)
    assert.ok(shareKnown(filter, unknown) <= errorRate + room)
    // Those that it took for known are not counted.
    assert.ok(filter.size >= known.length * (1 - errorRate) && filter.size < known.length + capacity * errorRate)
  })
}

test('a promise of one in a hundred million holds in a small filter too', () => {
  const filter = new BloomDupeFilter({ capacity: 2_000, errorRate: 1e-8 })
  makeFingerprints(1, 2_000).forEach((one) => filter.add(one))
  assert.equal(filter.size, 2_000)
  assert.equal(shareKnown(filter, makeFingerprints(2, 200_000)), 0)
})

test('zero is a fingerprint like any other', () => {
  const filter = new BloomDupeFilter({ capacity: 1_000, errorRate: 0.001 })
  assert.equal(filter.has('0000000000000000'), false)
  assert.equal(filter.add('0000000000000000'), true)
  assert.equal(filter.add('0000000000000000'), false)
})

test('a layer that would be larger than an array is made in several', () => {
  const filter = new BloomDupeFilter({ capacity: 300_000_000, errorRate: 0.001 })
  assert.equal(filter.bytes, 2 ** 29)
})

test('hosts are told from canonical URLs', () => {
  assert.equal(hostOf('https://a.example/b/c?u=http://d.example/'), 'a.example')
  assert.equal(hostOf('http://a.example:8080/'), 'a.example:8080')
  assert.equal(hostOf('http://user:pass@a.example/'), 'a.example')
  assert.equal(hostOf('http://[::1]:8080/@b'), '[::1]:8080')
})

const makeByHost = (onGrown = () => {}) =>
  new DupeFilterByHost({
    make: () => new BloomDupeFilter({ capacity: Infinity, errorRate: 0.001, firstCapacity: 1_000 }),
    capacity: 20_000,
    onGrown,
  })

test('each host has its own filter, which grows with it', () => {
  let grown = 0
  const filter = makeByHost(() => (grown += 1))
  const small = makeFingerprints(1, 200)
  const large = makeFingerprints(2, 20_000)
  small.forEach((one, index) => assert.equal(filter.add(one, `https://host-${index}.example/`), true))
  large.forEach((one) => filter.add(one, 'https://large.example/a'))
  assert.ok(large.every((one) => filter.has(one, 'https://large.example/other')))
  assert.ok(small.every((one, index) => filter.has(one, `https://host-${index}.example/`)))
  assert.equal(filter.has(small[0] ?? '', 'https://host-1.example/'), false)
  // The other hosts' filters are as empty as before.
  assert.ok(large.every((one) => !filter.has(one, 'https://host-7.example/')))
  assert.ok(filter.size > 20_000 && filter.size <= 20_200)
  assert.equal(grown, 1)
})

test('a fingerprint without a host is known at every host', () => {
  const filter = makeByHost()
  const [one = '', two = '', three = ''] = makeFingerprints(1, 3)
  const [high, low] = fingerprintParts(one)
  assert.equal(filter.adopt(high, low, 0, 0), true)
  assert.equal(filter.has(one, 'http://a.example/'), true)
  assert.equal(filter.add(one, 'http://b.example/'), false)
  assert.equal(filter.add(two, 'http://b.example/'), true)
  assert.equal(filter.has(two, 'http://a.example/'), false)
  const [high3, low3] = fingerprintParts(three)
  assert.equal(filter.addParts(high3, low3, 0, 0, 'a.example'), true)
  assert.equal(filter.has(three, 'http://a.example/'), true)
  assert.equal(filter.has(three, 'http://b.example/'), false)
})
