import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ExactDupeFilter } from '../../framework/dupe-filter/exact.ts'
import { fingerprintParts } from '../../framework/dupe-filter/fingerprint-parts.ts'
import { makeFingerprints } from './fingerprints.ts'

// Few different digits, so that fingerprints meet again, share halves and crowd one table.
const digits = (length: number) =>
  fc.array(fc.constantFrom('0', '0', '1', 'f'), { minLength: length, maxLength: length }).map((all) => all.join(''))
const fingerprint = (length: number) =>
  fc.oneof(
    digits(length),
    digits(2).map((end) => end.padStart(length, '0')),
    digits(3).map((start) => start.padEnd(length, 'a')),
  )

/** With zeros before it, a fingerprint whose hash in the filter begins with 0000000000001: its multiplier, inverted. */
const crowdedLow = (number: number): number => Math.imul(0x80000 | (Math.imul(number, 0x85ebca6b) & 0x7ffff), 0x0e8b2f51) >>> 0

const toFingerprint = (low: number, bits: 64 | 128): string =>
  `00000000${low.toString(16).padStart(8, '0')}`.padEnd(bits / 4, '0')

for (const bits of [64, 128] as const) {
  test(`at ${bits} bits it answers what a Set would, whatever is asked`, () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fingerprint(bits / 4)), { maxLength: 400 }), (steps) => {
        const filter = new ExactDupeFilter({ bits })
        const set = new Set<string>()
        for (const [adds, one] of steps) {
          assert.equal(filter.has(one), set.has(one))
          if (adds) assert.equal(filter.add(one), !set.has(one))
          if (adds) set.add(one)
        }
        assert.equal(filter.size, set.size)
      }),
      { numRuns: 100 },
    )
  })

  test(`at ${bits} bits it keeps all of 120,000 while it grows, in at most ${bits === 64 ? 20 : 40} bytes each`, () => {
    const filter = new ExactDupeFilter({ bits })
    const known = makeFingerprints(1, 120_000, bits === 64 ? 16 : 32)
    for (const [index, one] of known.entries()) {
      assert.equal(filter.add(one), true)
      if (index >= 100_000 && index % 500 === 0) assert.ok(filter.bytes / filter.size <= (bits === 64 ? 20 : 40))
    }
    assert.ok(known.every((one) => filter.has(one) && !filter.add(one)))
    assert.ok(makeFingerprints(2, 50_000, bits === 64 ? 16 : 32).every((one) => !filter.has(one)))
    assert.equal(filter.size, known.length)
  })

  test(`at ${bits} bits 300,000 that crowd one part of the table, or have nothing in their first half, are kept as well`, () => {
    const crowd = new ExactDupeFilter({ bits })
    const bare = new ExactDupeFilter({ bits })
    for (const isAdded of [false, true]) {
      for (let number = 1; number <= 300_000; number += 1) {
        const inCrowd = crowdedLow(number)
        if (isAdded) assert.ok(crowd.has(toFingerprint(inCrowd, bits)) && bare.has(toFingerprint(number, bits)))
        assert.equal(crowd.addParts(0, inCrowd, 0, 0), !isAdded)
        assert.equal(bare.addParts(0, number, 0, 0), !isAdded)
      }
    }
    assert.equal(crowd.size, 300_000)
    assert.equal(crowd.has(toFingerprint(crowdedLow(300_001), bits)), false)
    assert.equal(bare.has(toFingerprint(300_001, bits)), false)
    for (const filter of [crowd, bare]) assert.ok(filter.bytes / filter.size <= (bits === 64 ? 40 : 80))
  })

  test(`one for few at ${bits} bits takes few bytes`, () => {
    const filter = new ExactDupeFilter({ bits })
    assert.ok(filter.bytes <= 4_000)
    makeFingerprints(1, 1_000, bits === 64 ? 16 : 32).forEach((one) => filter.add(one))
    assert.ok(filter.bytes <= bits * 500)
  })

  test(`zero is a fingerprint like any other at ${bits} bits`, () => {
    const filter = new ExactDupeFilter({ bits })
    const zero = '0'.repeat(bits / 4)
    assert.equal(filter.has(zero), false)
    assert.equal(filter.add(zero), true)
    assert.equal(filter.add(zero), false)
    assert.equal(filter.has(zero), true)
    assert.equal(filter.size, 1)
  })
}

test('at 128 bits fingerprints that share any 96 bits are different', () => {
  const filter = new ExactDupeFilter({ bits: 128 })
  const base = '0123456789abcdef0123456789abcdef'
  const others = [0, 8, 16, 24].map((at) => `${base.slice(0, at)}ffffffff${base.slice(at + 8)}`)
  for (const one of [base, ...others]) assert.equal(filter.add(one), true)
  assert.equal(filter.size, 5)
})

test('numbers and digits name the same fingerprint', () => {
  for (const bits of [64, 128] as const) {
    const filter = new ExactDupeFilter({ bits })
    for (const one of [...makeFingerprints(3, 100, 32), 'FFFFFFFF80000000ffffffff7fffffff']) {
      const [high, low, high2 = 0, low2 = 0] = fingerprintParts(one)
      assert.ok([high, low, high2, low2].every((part) => part >= 0))
      assert.equal(filter.addParts(high, low, high2, low2), true)
      assert.equal(filter.has(one), true)
    }
  }
  assert.deepEqual(fingerprintParts('ffffffff00000001'), [0xffffffff, 1])
  assert.deepEqual(fingerprintParts('FFFFFFFF000000020000000380000000'), [0xffffffff, 2, 3, 0x80000000])
})

test('what is no fingerprint of its length is refused, not taken for another', () => {
  assert.throws(() => new ExactDupeFilter().has('abc'), /"abc" has 3 digits: a fingerprint of 64 bits needs 16 or 32/)
  const long = new ExactDupeFilter({ bits: 128 })
  assert.throws(() => long.add('0123456789abcdef'), /has 16 digits: a fingerprint of 128 bits needs 32/)
})
