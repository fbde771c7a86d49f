import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { IndexedHeap, type HeapEntry } from '../../framework/frontier/indexed-heap.ts'
import { Turns } from '../../framework/frontier/turns.ts'

describe('the heap of waiting slots', () => {
  test('gives the least first, whatever is taken out from its middle', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(20)), { maxLength: 80 }), (steps) => {
        const heap = new IndexedHeap<HeapEntry>()
        const entries: HeapEntry[] = []
        for (const [isAdding, value] of steps) {
          const picked = entries[value % Math.max(1, entries.length)]
          if (isAdding || picked === undefined) {
            const entry = { at: value, index: -1 }
            entries.push(entry)
            heap.add(entry)
          } else {
            entries.splice(entries.indexOf(picked), 1)
            heap.remove(picked)
          }
          assert.equal(heap.first?.at, entries.length === 0 ? undefined : Math.min(...entries.map(({ at }) => at)))
        }
      }),
    )
  })
})

describe('turns of slots', () => {
  const open = () => {
    const readyAt = new Map<string, number>()
    const turns = new Turns((slot) => readyAt.get(slot) ?? 0)
    const set = (slot: string, at: number) => {
      readyAt.set(slot, at)
      turns.changed(slot)
    }
    return { turns, set }
  }
  const drain = (turns: Turns): string[] => {
    const found: string[] = []
    for (let slot = turns.next(); slot !== undefined; slot = turns.next()) {
      turns.take(slot)
      found.push(slot)
    }
    return found
  }

  test('each slot comes once before any comes again', () => {
    const { turns } = open()
    for (const slot of ['a', 'b', 'c']) turns.add(slot, 3)
    turns.add('a', 2)
    assert.deepEqual(drain(turns), ['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c', 'a', 'a'])
    assert.equal(turns.size, 0)
  })

  test('one that waits comes when its time has come, and its time is known', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    const { turns, set } = open()
    set('slow', 1_005_000)
    turns.add('slow', 1)
    assert.equal(turns.next(), undefined)
    assert.equal(turns.nextAt(), 1_005_000)
    set('slow', 1_009_000)
    assert.equal(turns.nextAt(), 1_009_000)
    t.mock.timers.tick(8_999)
    assert.deepEqual(drain(turns), [])
    t.mock.timers.tick(1)
    assert.deepEqual(drain(turns), ['slow'])
  })

  test('one without a free place waits for its next change, not for time', () => {
    const { turns, set } = open()
    turns.add('busy', 2)
    set('busy', Infinity)
    assert.equal(turns.next(), undefined)
    assert.equal(turns.nextAt(), Infinity)
    set('busy', 0)
    assert.deepEqual(drain(turns), ['busy', 'busy'])
  })

  test('however slots change, those that are ready are found, and no other', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), slot: fc.nat(5) }),
      fc.record({ kind: fc.constant('set' as const), slot: fc.nat(5), inMs: fc.constantFrom(-1, 0, 5, 10, 50, Infinity) }),
      fc.record({ kind: fc.constant('tick' as const), ms: fc.nat(20) }),
      fc.record({ kind: fc.constant('take' as const) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const { turns, set } = open()
        const counts = new Map<string, number>()
        const times = new Map<string, number>()
        const isReady = (slot: string) => (counts.get(slot) ?? 0) > 0 && (times.get(slot) ?? 0) <= Date.now()
        for (const one of steps) {
          if (one.kind === 'add') {
            turns.add(`${one.slot}`)
            counts.set(`${one.slot}`, (counts.get(`${one.slot}`) ?? 0) + 1)
          } else if (one.kind === 'set') {
            times.set(`${one.slot}`, Date.now() + one.inMs)
            set(`${one.slot}`, Date.now() + one.inMs)
          } else if (one.kind === 'tick') t.mock.timers.tick(one.ms)
          else {
            const slot = turns.next()
            assert.equal(slot !== undefined, [...counts.keys()].some(isReady))
            if (slot === undefined) {
              const waiting = [...counts].filter(([, count]) => count > 0).map(([name]) => times.get(name) ?? 0)
              assert.equal(turns.nextAt(), Math.min(Infinity, ...waiting))
              continue
            }
            assert.ok(isReady(slot))
            turns.take(slot)
            counts.set(slot, (counts.get(slot) ?? 0) - 1)
          }
          assert.equal(turns.size, [...counts.values()].reduce((sum, count) => sum + count, 0))
        }
      }),
    )
  })
})
