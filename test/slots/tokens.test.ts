import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { DownloaderMiddleware } from '../../framework/crawl.ts'
import { schema, type SettingsInput } from '../../framework/settings/schema.ts'
import { Slots } from '../../framework/slots/slots.ts'
import { serve } from '../downloader/server.ts'
import { openCrawl } from '../middlewares/crawl.ts'

const start = 1_000_000

function open(t: TestContext, slot: SettingsInput['slot'], hosts: SettingsInput['hosts'] = {}) {
  t.mock.timers.enable({ apis: ['Date'], now: start })
  const slots = new Slots(schema.parse({ slot: { concurrency: 100, delayMs: 0, jitter: 0, ...slot }, hosts }))
  return {
    slots,
    tick: (ms: number) => t.mock.timers.tick(ms),
    /** How many may go out at this moment. */
    drain(slot = 'a'): number {
      let count = 0
      for (; count < 1_000; count++) {
        const visit = slots.tryEnter(slot)
        if (visit === undefined) break
        visit.end()
      }
      return count
    },
  }
}

describe('tokens', () => {
  test('as many as a burst go out at once, then so many a second, and no more than a burst are saved', (t) => {
    const { slots, tick, drain } = open(t, { perSecond: 4, burst: 3 })
    assert.equal(drain(), 3)
    assert.equal(slots.readyAt('a'), start + 250)
    tick(249)
    assert.equal(drain(), 0)
    tick(1)
    assert.equal(drain(), 1)
    tick(500)
    assert.equal(drain(), 2)
    tick(3_600_000)
    assert.equal(drain(), 3)
    assert.equal(drain('b'), 3)
  })

  test('over a long time they are as many as the rate says', (t) => {
    const { tick, drain } = open(t, { perSecond: 0.7, burst: 5 })
    let count = drain()
    for (let ms = 0; ms < 1_000_000; ms += 100) {
      tick(100)
      count += drain()
    }
    assert.equal(count, 5 + 700)
  })

  test('a place that was not used gives its token back', (t) => {
    const { slots, tick, drain } = open(t, { perSecond: 1, burst: 2 })
    const [first, second] = [slots.tryEnter('a'), slots.tryEnter('a')]
    assert.equal(slots.tryEnter('a'), undefined)
    second?.cancel()
    second?.cancel()
    assert.equal(drain(), 1)
    tick(300)
    first?.cancel()
    assert.equal(drain(), 1)
    assert.equal(slots.readyAt('a'), start + 1_300)
    slots.tryEnter('b')?.cancel()
    assert.equal(drain('b'), 2)
  })

  test('a token that time has brought back is not given back once more', (t) => {
    const { slots, tick } = open(t, { perSecond: 1, burst: 1 })
    const visits = Array.from({ length: 5 }, () => {
      const visit = slots.tryEnter('a')
      tick(1_000)
      return visit
    })
    let sent = 0
    for (const visit of visits) {
      visit?.cancel()
      if (slots.tryEnter('a') !== undefined) sent++
    }
    assert.equal(sent, 1)
  })

  test('the delay holds too', (t) => {
    const { slots, tick, drain } = open(t, { perSecond: 2, burst: 2, delayMs: 100 })
    assert.equal(drain(), 1)
    assert.equal(slots.readyAt('a'), start + 100)
    tick(100)
    assert.equal(drain(), 1)
    assert.equal(slots.readyAt('a'), start + 500)
    slots.setDelay('a', 2_000)
    assert.equal(slots.readyAt('a'), start + 2_100)
  })

  test('a host may have a rate of its own, or none', (t) => {
    const { drain } = open(t, { perSecond: 1, burst: 2 }, { quick: { burst: 5 }, free: { perSecond: 0 } })
    assert.deepEqual([drain('plain'), drain('quick'), drain('free')], [2, 5, 1_000])
  })

  test('a further hop waits for its token, however rare these are, and not for another try of the request', async () => {
    const server = await serve((_, response) => response.end())
    const twice: DownloaderMiddleware = () => async (request, next) => {
      await next(request)
      return next(request)
    }
    const crawl = await openCrawl({ middlewares: [twice], settings: { slot: { perSecond: 0.05 } } })
    try {
      const fetching = crawl.fetch(server.url)
      while (crawl.slots.states()[0]?.active !== 0) await new Promise((resolve) => setImmediate(resolve))
      assert.ok(crawl.slots.readyAt(server.host) > Date.now() + 10_000)
      const stop = new Error('stop')
      crawl.abort(stop)
      await assert.rejects(fetching, (error) => error === stop)
      assert.deepEqual(server.asked, ['GET /'])
    } finally {
      await crawl.close()
      await server.close()
    }
  })

  test('a slot whose tokens are used up is not forgotten', (t) => {
    const { slots, tick, drain } = open(t, { perSecond: 0.001 })
    drain('spent')
    tick(900_000)
    for (let n = 0; n < 10_000; n++) slots.tryEnter(`host${n}`)?.cancel()
    assert.equal(drain('spent'), 0)
    assert.ok(slots.states().length < 9_000)
  })
})
