import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { schema, type SettingsInput } from '../../framework/settings/schema.ts'
import { Slots } from '../../framework/slots/slots.ts'

const open = (slot: SettingsInput['slot'] = {}, hosts: SettingsInput['hosts'] = {}) =>
  new Slots(schema.parse({ slot: { delayMs: 60_000, jitter: 0, ...slot }, hosts }))
const { signal } = new AbortController()

describe('slots', () => {
  test('starts at one host are the delay apart; other hosts don’t wait', () => {
    const slots = open()
    const before = Date.now()
    assert.ok(slots.tryEnter('a'))
    assert.equal(slots.tryEnter('a'), undefined)
    assert.ok(slots.readyAt('a') >= before + 60_000)
    assert.ok(slots.tryEnter('b'))
    assert.ok(slots.readyAt('b') >= before + 60_000)
    assert.equal(slots.readyAt('c'), 0)
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

  test('a slot’s name is in lower case, and all spellings share its places', () => {
    const slots = open()
    assert.equal(slots.tryEnter('Own.Example:81')?.slot, 'own.example:81')
    assert.equal(slots.tryEnter('own.example:81'), undefined)
  })

  test('says when a slot may have become ready sooner or later, once that is so, and not when it is entered', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    const slots = open({ delayMs: 100, concurrency: 1 })
    const told: [string, number][] = []
    const remove = slots.onChange((slot) => told.push([slot, slots.readyAt(slot)]))
    const changes = (): [string, number][] => told.splice(0)
    const visit = slots.tryEnter('A')
    assert.deepEqual(changes(), [])
    visit?.end()
    visit?.cancel()
    assert.deepEqual(changes(), [['a', 1_000_100]])
    slots.setDelay('A', 1_000)
    slots.setDelay('A', 1_000)
    assert.deepEqual(changes(), [['a', 1_001_000]])
    slots.setLeastDelay('A', 3_000)
    slots.setLeastDelay('A', 3_000)
    slots.setLeastDelay('A', 0)
    assert.deepEqual(changes(), [['a', 1_003_000], ['a', 1_001_000]])
    slots.setDelay('A', 0)
    slots.pauseUntil('A', 1_000_500)
    slots.pauseUntil('A', 1_000_400)
    assert.deepEqual(changes(), [['a', 1_000_100], ['a', 1_000_500]])
    t.mock.timers.tick(500)
    slots.tryEnter('A')?.cancel()
    assert.deepEqual(changes(), [['a', 1_000_100]])
    remove()
    slots.setDelay('A', 5_000)
    assert.deepEqual(changes(), [])
  })

  test('a pause holds, and a shorter one doesn’t end it', () => {
    const slots = open({ delayMs: 0 })
    const until = Date.now() + 600_000
    slots.pauseUntil('a', until, 'http 429')
    slots.pauseUntil('a', until - 1_000)
    assert.equal(slots.tryEnter('a'), undefined)
    assert.equal(slots.readyAt('a'), until)
    assert.deepEqual(slots.states().map(({ slot, pausedUntil, reason }) => [slot, pausedUntil, reason]), [['a', until, 'http 429']])
  })

  test('a delay is never set below the setting', () => {
    const slots = open({ delayMs: 100 })
    slots.setDelay('a', 5_000, 'latency')
    assert.equal(slots.delayOf('a'), 5_000)
    slots.setDelay('a', 0)
    assert.equal(slots.delayOf('a'), 100)
    for (const wrong of [NaN, -1, Infinity]) {
      assert.throws(() => slots.setDelay('a', wrong), { code: 'slot' })
      assert.throws(() => slots.setLeastDelay('a', wrong), { code: 'slot' })
    }
  })

  test('nor below what the host asks for, which goes without taking along what was learned', () => {
    const slots = open({ delayMs: 100 })
    const state = () => [slots.leastDelayOf('a'), slots.delayOf('a'), slots.states()[0]?.reason]
    slots.setLeastDelay('a', 3_000, 'crawl-delay')
    assert.deepEqual(state(), [3_000, 3_000, 'crawl-delay'])
    slots.setDelay('a', 6_000, 'http 503')
    slots.setDelay('a', 5_000)
    assert.deepEqual(state(), [3_000, 5_000, 'http 503'])
    slots.setLeastDelay('a', 0)
    assert.deepEqual(state(), [100, 5_000, 'http 503'])
    slots.setLeastDelay('a', 50, 'crawl-delay')
    slots.setDelay('a', 0)
    assert.deepEqual(state(), [100, 100, ''])
    assert.equal(slots.leastDelayOf('b'), 100)
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

  test('chance never makes the delay shorter than what the host asks for', () => {
    const slots = open({ delayMs: 100, jitter: 0.5 })
    for (let n = 0; n < 200; n++) {
      slots.setLeastDelay(`host${n}`, 1_000, 'crawl-delay')
      const now = Date.now()
      slots.tryEnter(`host${n}`)
      assert.ok(slots.readyAt(`host${n}`) - now >= 1_000)
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
    for (let n = 0; n < 5_000; n++) slots.tryEnter(`free${n}`)?.cancel()
    assert.equal(slots.states().length, 20_000)
    slots.tryEnter('one')
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
