import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HyperLogLogBank } from '../../framework/dupe-filter/hyperloglog-bank.ts'
import { HyperLogLog } from '../../framework/dupe-filter/hyperloglog.ts'
import { makeFingerprints, randomWords } from './fingerprints.ts'

test('it counts within its stated error from one to a million, without a bias', () => {
  const sizes = [1, 10, 100, 1_000, 10_000, 30_000, 100_000, 300_000]
  const seeds = Array.from({ length: 40 }, (_, index) => index + 1)
  const errors = new Map(sizes.map((size) => [size, [] as number[]]))
  for (const seed of seeds) {
    const log = new HyperLogLog()
    const next = randomWords(seed)
    let added = 0
    for (const size of sizes) {
      for (; added < size; added += 1) log.addParts(next(), next())
      errors.get(size)?.push(log.count() / size - 1)
    }
  }
  for (const [size, found] of errors) {
    const rms = Math.sqrt(found.reduce((sum, error) => sum + error ** 2, 0) / found.length)
    const mean = found.reduce((sum, error) => sum + error, 0) / found.length
    // Four standard errors of a root mean square and of a mean of 40.
    assert.ok(rms <= HyperLogLog.error * (1 + 4 / Math.sqrt(2 * found.length)), `${size}: rms ${rms}`)
    assert.ok(Math.abs(mean) <= (4 * HyperLogLog.error) / Math.sqrt(found.length), `${size}: mean ${mean}`)
  }
  const log = new HyperLogLog()
  const next = randomWords(99)
  for (let added = 0; added < 1_000_000; added += 1) log.addParts(next(), next())
  assert.ok(Math.abs(log.count() / 1_000_000 - 1) <= 4 * HyperLogLog.error)
})

test('counting twice changes nothing, none is 0, and zero counts', () => {
  const log = new HyperLogLog()
  assert.equal(log.count(), 0)
  assert.equal(log.add('0000000000000000'), true)
  assert.equal(log.add('0000000000000000'), false)
  assert.equal(log.count(), 1)
})

test('two counts merged are the count of both, and a count outlives its bytes', () => {
  const all = makeFingerprints(1, 30_000)
  const [left, right, both] = [new HyperLogLog(), new HyperLogLog(), new HyperLogLog()]
  all.slice(0, 20_000).forEach((one) => left.add(one))
  all.slice(10_000).forEach((one) => right.add(one))
  all.forEach((one) => both.add(one))
  left.merge(HyperLogLog.fromBytes(right.toBytes()))
  assert.deepEqual(left.toBytes(), both.toBytes())
  assert.equal(left.count(), both.count())
  assert.throws(() => HyperLogLog.fromBytes(new Uint8Array(10)), /10 bytes are no HyperLogLog/)
  assert.throws(() => HyperLogLog.fromBytes(new Uint8Array(16_384).fill(63)), /no HyperLogLog/)
})

test('one HyperLogLog as a dupe filter would lose nine of ten, which is why there is a bank', () => {
  const log = new HyperLogLog()
  const next = randomWords(1)
  let lost = 0
  for (let added = 0; added < 1_000_000; added += 1) if (!log.addParts(next(), next())) lost += 1
  assert.ok(lost > 900_000)
})

test('a bank loses about 0.27 % of new URLs up to its capacity, and says when it is passed', () => {
  const capacity = 128_000
  let grown = 0
  const bank = new HyperLogLogBank({ capacity, onGrown: () => (grown += 1) })
  const known = makeFingerprints(1, capacity)
  const lost = known.filter((one) => !bank.add(one)).length
  // Five standard errors of a count of about 350.
  assert.ok(Math.abs(lost - 0.0027 * capacity) <= 5 * Math.sqrt(0.0027 * capacity), `${lost} lost`)
  assert.ok(known.every((one) => bank.has(one) && !bank.add(one)))
  assert.equal(bank.size, capacity - lost)
  assert.ok(bank.bytes / bank.size <= 8)
  assert.equal(grown, 0)
  makeFingerprints(2, capacity).forEach((one) => bank.add(one))
  assert.equal(grown, 1)
  const unknown = makeFingerprints(3, 100_000)
  const share = unknown.filter((one) => bank.has(one)).length / unknown.length
  assert.ok(share > 0.008 && share < 0.012, `${share} at twice the capacity`)
  assert.ok(known.every((one) => bank.has(one)))
})

test('a bank for few and one for many answer alike', () => {
  for (const capacity of [1, 1_000, 10_000_000_000]) {
    const bank = new HyperLogLogBank({ capacity })
    const known = ['0000000000000000', 'ffffffffffffffff', ...makeFingerprints(4, 50)]
    known.forEach((one) => assert.equal(bank.add(one), true))
    assert.ok(known.every((one) => bank.has(one)))
    assert.equal(bank.has('0123456789abcdef'), false)
  }
})
