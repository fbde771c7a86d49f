import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { schema, type SettingsInput } from '../../framework/settings/schema.ts'
import { Slots, type SlotMemory } from '../../framework/slots/slots.ts'

const start = 1_000_000

/** A process that keeps what it is told in `rows`, as the frontier does. */
function open(rows = new Map<string, SlotMemory>(), slot: SettingsInput['slot'] = {}) {
  const slots = new Slots(schema.parse({ slot: { delayMs: 500, jitter: 0, ...slot } }))
  const told: SlotMemory[] = []
  slots.restore([...rows.values()])
  slots.onMemory((memory) => {
    told.push(memory)
    if (memory.delayMs === 0 && memory.leastDelayMs === 0 && memory.pausedUntil === 0) rows.delete(memory.slot)
    else rows.set(memory.slot, memory)
  })
  return { slots, rows, told: () => told.splice(0) }
}

const plain = { delayMs: 0, leastDelayMs: 0, pausedUntil: 0, reason: '' }
const mock = (t: TestContext) => t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start })

describe('what is remembered of slots', () => {
  test('a pause is told at once, and only what is new', (t) => {
    mock(t)
    const { slots, told } = open()
    slots.pauseUntil('A', start + 9_000, 'http 429')
    slots.pauseUntil('a', start + 8_000, 'http 503')
    assert.deepEqual(told(), [{ ...plain, slot: 'a', pausedUntil: start + 9_000, reason: 'http 429' }])
    t.mock.timers.tick(5_000)
    slots.flush()
    assert.deepEqual(told(), [])
  })

  test('changed delays are told at most once a second a slot, and the last one always', (t) => {
    mock(t)
    const { slots, told } = open()
    for (let ms = 1_000; ms < 2_000; ms++) slots.setDelay('a', ms, 'latency')
    slots.setLeastDelay('b', 3_000, 'crawl-delay')
    assert.deepEqual(told(), [])
    t.mock.timers.tick(1_000)
    const a = { ...plain, slot: 'a', delayMs: 1_999, reason: 'latency' }
    const b = { ...plain, slot: 'b', leastDelayMs: 3_000, reason: 'crawl-delay' }
    assert.deepEqual(told(), [a, b])
    slots.setDelay('b', 4_000, 'http 503')
    slots.setDelay('a', 5_000)
    slots.setDelay('a', 1_999)
    t.mock.timers.tick(999)
    assert.deepEqual(told(), [])
    slots.flush()
    assert.deepEqual(told(), [{ ...b, delayMs: 4_000, reason: 'http 503' }])
    slots.setDelay('b', 0)
    slots.pauseUntil('b', start + 60_000, 'http 429')
    assert.deepEqual(told(), [{ ...b, pausedUntil: start + 60_000, reason: 'http 429' }])
    t.mock.timers.tick(10_000)
    assert.deepEqual(told(), [])
  })

  test('a delay that was learned is not taken up again when nothing would ease it', (t) => {
    mock(t)
    const slots = new Slots(schema.parse({ slot: { delayMs: 500 }, autothrottle: { enabled: false } }))
    slots.restore([{ ...plain, slot: 'a', delayMs: 9_000, leastDelayMs: 3_000, pausedUntil: start + 60_000 }])
    assert.equal(slots.delayOf('a'), 3_000)
    assert.equal(slots.readyAt('a'), start + 60_000)
  })

  test('a slot of which nothing is left to remember is told with zeros, once', (t) => {
    mock(t)
    const { slots, told, rows } = open()
    slots.setDelay('back', 1_000, 'latency')
    slots.setDelay('quick', 1_000, 'latency')
    slots.setDelay('quick', 0)
    slots.setLeastDelay('within', 400, 'crawl-delay')
    slots.pauseUntil('paused', start + 5_000, 'http 429')
    slots.flush()
    assert.deepEqual([...rows.keys()], ['paused', 'back'])
    told()
    slots.setDelay('back', 500)
    t.mock.timers.tick(5_000)
    assert.deepEqual(told(), [{ ...plain, slot: 'back' }])
    slots.tryEnter('paused')?.end()
    slots.setDelay('back', 0)
    t.mock.timers.tick(1_000)
    assert.deepEqual(told(), [{ ...plain, slot: 'paused' }])
    assert.equal(slots.states().find(({ slot }) => slot === 'paused')?.reason, '')
  })

  test('so is one that is forgotten', (t) => {
    mock(t)
    const { slots, rows } = open()
    slots.setDelay('idle', 1_000, 'latency')
    slots.setLeastDelay('asks', 2_000, 'crawl-delay')
    t.mock.timers.tick(3_600_000)
    assert.deepEqual([...rows.keys()], ['idle', 'asks'])
    for (let n = 0; n < 10_000; n++) slots.tryEnter(`host${n}`)?.cancel()
    slots.flush()
    assert.deepEqual([rows.size, slots.delayOf('idle'), slots.delayOf('asks')], [0, 500, 500])
    slots.setLeastDelay('asks', 2_000, 'crawl-delay')
    assert.equal(slots.delayOf('asks'), 2_000)
  })

  test('the next process knows it, what was learned and what is asked for apart', (t) => {
    mock(t)
    const before = open()
    before.slots.setLeastDelay('both', 2_000, 'crawl-delay')
    before.slots.setDelay('both', 6_000, 'http 503')
    before.slots.setDelay('learned', 4_000, 'latency')
    before.slots.pauseUntil('paused', start + 60_000, 'http 429')
    before.slots.pauseUntil('over', start + 10_000, 'http 429')
    before.slots.flush()
    t.mock.timers.tick(30_000)

    const { slots, told, rows } = open(before.rows)
    const now = start + 30_000
    const known = (slot: string) => [slots.leastDelayOf(slot), slots.delayOf(slot), slots.readyAt(slot)]
    assert.deepEqual(['both', 'learned', 'paused', 'over'].map(known), [
      [2_000, 6_000, now + 6_000],
      [500, 4_000, now + 4_000],
      [500, 500, start + 60_000],
      [500, 500, 0],
    ])
    assert.equal(slots.tryEnter('both'), undefined, 'the first visit waits')
    assert.deepEqual(slots.states().map(({ reason }) => reason).sort(), ['', 'http 429', 'http 503', 'latency'])
    slots.flush()
    assert.deepEqual(told(), [{ ...plain, slot: 'over' }])
    assert.deepEqual([...rows.keys()].sort(), ['both', 'learned', 'paused'])
    slots.setDelay('both', 0)
    assert.equal(slots.delayOf('both'), 2_000)
  })

  test('what is within other settings by now is forgotten', (t) => {
    mock(t)
    const before = open()
    before.slots.setDelay('a', 1_000, 'latency')
    before.slots.setLeastDelay('b', 2_000, 'crawl-delay')
    before.slots.flush()
    const { slots, rows } = open(before.rows, { delayMs: 1_500 })
    assert.deepEqual([slots.readyAt('a'), slots.delayOf('a'), slots.delayOf('b')], [0, 1_500, 2_000])
    slots.flush()
    assert.deepEqual([...rows.keys()], ['b'])
  })

  test('a domain takes over what was known of its hosts, the slowest of each', (t) => {
    mock(t)
    const before = open()
    before.slots.setDelay('a.example.com', 3_000, 'latency')
    before.slots.setDelay('b.example.com:81', 2_000, 'http 503')
    before.slots.pauseUntil('b.example.com:81', start + 60_000, 'http 429')
    before.slots.flush()
    const { slots, rows } = open(before.rows, { by: 'domain' })
    assert.deepEqual([slots.delayOf('c.example.com'), slots.readyAt('c.example.com')], [3_000, start + 60_000])
    slots.flush()
    const both = { slot: 'example.com', delayMs: 3_000, leastDelayMs: 0, pausedUntil: start + 60_000, reason: 'http 429' }
    assert.deepEqual([...rows.values()], [both])
  })

  test('a listener that was removed is told nothing', (t) => {
    mock(t)
    const slots = new Slots(schema.parse({}))
    const told: SlotMemory[] = []
    const remove = slots.onMemory((memory) => told.push(memory))
    slots.setDelay('a', 1_000)
    remove()
    t.mock.timers.tick(1_000)
    slots.pauseUntil('a', start + 60_000)
    assert.deepEqual(told, [])
  })
})
