import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Slots } from '../framework/slots.ts'

const open = (options = {}) => new Slots({ concurrency: 2, delayMs: 60_000, jitter: 0, ...options })
const { signal } = new AbortController()

describe('slots', () => {
  test('starts at one host are the delay apart; other hosts don’t wait', () => {
    const slots = open()
    const before = Date.now()
    assert.ok(slots.tryEnter('a'))
    assert.equal(slots.tryEnter('a'), undefined)
    assert.ok(slots.readyAt('a') >= before + 60_000)
    assert.ok(slots.tryEnter('b'))
    assert.deepEqual([...slots.closed()], ['a', 'b'])
  })

  test('no more at once than its concurrency, however long it takes', async () => {
    const slots = open({ delayMs: 0 })
    const first = slots.tryEnter('a')
    assert.ok(first && slots.tryEnter('a'))
    assert.equal(slots.tryEnter('a'), undefined)
    assert.equal(slots.readyAt('a'), Infinity)
    const third = slots.enter('a', signal)
    first.end()
    first.end()
    assert.ok(await third)
    assert.equal(slots.tryEnter('a'), undefined)
  })

  test('a place that was not used costs no delay', () => {
    const slots = open()
    slots.tryEnter('a')?.cancel()
    assert.ok(slots.tryEnter('a'))
  })

  test('a pause holds, and a shorter one doesn’t end it', () => {
    const slots = open({ delayMs: 0 })
    const told: string[] = []
    slots.onPause((slot) => told.push(slot))
    const until = Date.now() + 600_000
    slots.pauseUntil('a', until, 'http 429')
    slots.pauseUntil('a', until - 1_000)
    assert.equal(slots.tryEnter('a'), undefined)
    assert.equal(slots.readyAt('a'), until)
    assert.deepEqual(told, ['a'])
    assert.deepEqual(slots.states().map(({ slot, pausedUntil, reason }) => [slot, pausedUntil, reason]), [['a', until, 'http 429']])
  })

  test('a delay is never set below the setting', () => {
    const slots = open({ delayMs: 100 })
    slots.setDelay('a', 5_000, 'crawl-delay')
    assert.equal(slots.delayOf('a'), 5_000)
    slots.setDelay('a', 0)
    assert.equal(slots.delayOf('a'), 100)
    assert.throws(() => slots.setDelay('a', NaN))
  })

  test('jitter stays within its share', () => {
    const slots = open({ delayMs: 1_000, jitter: 0.25 })
    for (let n = 0; n < 200; n++) {
      const now = Date.now()
      slots.tryEnter(`host${n}`)
      const wait = slots.readyAt(`host${n}`) - now
      assert.ok(wait >= 750 && wait <= 1_260, String(wait))
    }
  })

  test('those not in use are forgotten when many exist; those that still mean something are kept', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    const slots = open({ delayMs: 0 })
    const names = () => slots.states().map(({ slot }) => slot)
    slots.tryEnter('open')
    slots.setDelay('slow', 5_000)
    slots.pauseUntil('paused', Date.now() + 10 * 3_600_000)
    for (let n = 0; n < 9_997; n++) slots.tryEnter(`host${n}`)?.end()
    assert.equal(names().length, 10_000)
    slots.tryEnter('one')?.end()
    assert.deepEqual(names(), ['open', 'slow', 'paused', 'one'])
    t.mock.timers.tick(3_600_000)
    for (let n = 0; n < 9_996; n++) slots.tryEnter(`host${n}`)?.end()
    slots.tryEnter('two')?.end()
    assert.deepEqual(names(), ['open', 'paused', 'two'])
  })

  test('as many as are in use are kept, and looked through again only when they have doubled', () => {
    const slots = open()
    for (let n = 0; n < 15_000; n++) slots.tryEnter(`host${n}`)
    for (let n = 0; n < 5_000; n++) slots.setDelay(`free${n}`, 0)
    assert.equal(slots.states().length, 20_000)
    slots.setDelay('one', 0)
    assert.equal(slots.states().length, 15_001)
  })

  test('waiting ends when the crawl does', async () => {
    const controller = new AbortController()
    const slots = open()
    slots.tryEnter('a')
    const entering = slots.enter('a', controller.signal)
    controller.abort(new Error('ending'))
    await assert.rejects(entering, /ending/)
  })
})
