import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Request } from '../../framework/http/request.ts'
import type { Timing } from '../../framework/http/response.ts'
import { DownloadError } from '../../framework/errors.ts'
import type { SettingsInput } from '../../framework/settings/schema.ts'
import type { SlotMemory } from '../../framework/slots/slots.ts'
import { autothrottle } from '../../middlewares/autothrottle.ts'
import { serve } from '../downloader/server.ts'
import { answer, openCrawl, type TestCrawl } from './crawl.ts'

interface Answered {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly firstByteMs?: number
  /** How long ago it was sent. */
  readonly totalMs?: number
}

describe('autothrottle', () => {
  /** Feeds the middleware with answers of one host and gives the slot's delay after each. */
  async function delays(
    settings: SettingsInput,
    answers: readonly (Answered | Error)[],
    see?: (crawl: TestCrawl) => void,
  ): Promise<number[]> {
    const crawl = await openCrawl({ settings })
    const handler = await autothrottle(crawl.crawl)
    const found: number[] = []
    try {
      for (const given of answers) {
        const request = new Request('http://a.example/')
        if (given instanceof Error) await assert.rejects(handler(request, () => Promise.reject(given)), given)
        else {
          const timing: Timing = { firstByteMs: given.firstByteMs ?? 1, totalMs: given.totalMs ?? 0 }
          const response = answer(request, { status: given.status ?? 200, headers: given.headers ?? {}, timing })
          assert.equal(await handler(request, () => Promise.resolve(response)), response)
        }
        found.push(crawl.slots.delayOf('a.example'))
      }
      see?.(crawl)
    } finally {
      await crawl.close()
    }
    return found
  }

  const good: Answered = {}
  const slot = { delayMs: 500 }

  test('doubles the delay at once on 429, 403, 503 and a time-out, up to its limit', async () => {
    const timeout = new DownloadError('timeout', 'late', { transient: true })
    for (const bad of [{ status: 429 }, { status: 403 }, { status: 503 }, timeout]) {
      assert.deepEqual(await delays({ slot, autothrottle: { maxDelayMs: 1_500 }, timeout: { connectMs: 1 } }, [bad]), [1_000])
    }
    const limited = await delays({ slot, autothrottle: { maxDelayMs: 1_500 } }, [{ status: 503 }, { status: 503 }, { status: 503 }])
    assert.deepEqual(limited, [1_000, 1_500, 1_500])
    assert.deepEqual(await delays({ slot: { delayMs: 0 } }, [{ status: 429 }]), [250])
    assert.deepEqual(await delays({ slot }, [new DownloadError('reset', 'gone', { transient: true })]), [500])
  })

  test('counts what was sent together and refused together once', async () => {
    const sentBefore = { status: 503, totalMs: 60_000 }
    assert.deepEqual(await delays({ slot }, [{ status: 503 }, sentBefore, sentBefore]), [1_000, 1_000, 1_000])
  })

  test('comes back step by step with good answers, and never below the setting', async () => {
    const found = await delays({ slot }, [{ status: 503 }, good, good, good, good, good])
    assert.deepEqual(found, [1_000, 800, 640, 512, 500, 500])
  })

  test('never speeds up on an error, however quick it was', async () => {
    const errors = [404, 500, 403, 410].map((status) => ({ status, totalMs: 60_000 }))
    assert.deepEqual(await delays({ slot }, [{ status: 503 }, ...errors]), [1_000, 1_000, 1_000, 1_000, 1_000])
  })

  test('moves with the latency, towards firstByteMs / targetConcurrency', async () => {
    assert.deepEqual(await delays({ slot }, [{ firstByteMs: 2_000 }, { firstByteMs: 2_000 }, good]), [2_000, 2_000, 1_600])
    assert.deepEqual(await delays({ slot, autothrottle: { targetConcurrency: 4 } }, [{ firstByteMs: 4_000 }]), [1_000])
    assert.deepEqual(await delays({ slot }, [{ status: 404, firstByteMs: 900 }]), [900])
  })

  test('brings no delay to a quick host that has none', async () => {
    assert.deepEqual(await delays({ slot: { delayMs: 0 } }, [{ firstByteMs: 50 }, { firstByteMs: 80 }, good]), [0, 80, 64])
  })

  test('never goes below a Crawl-delay that was set meanwhile', async () => {
    const crawl = await openCrawl({ settings: { slot } })
    const handler = await autothrottle(crawl.crawl)
    const request = new Request('http://a.example/')
    const get = (status: number) => handler(request, async () => answer(request, { status }))
    try {
      await get(200)
      crawl.slots.setLeastDelay('a.example', 3_000, 'crawl-delay')
      await get(503)
      assert.equal(crawl.slots.delayOf('a.example'), 6_000)
      for (let count = 0; count < 10; count++) await get(200)
      assert.equal(crawl.slots.delayOf('a.example'), 3_000)
      assert.equal(crawl.slots.states()[0]?.reason, 'crawl-delay')
      assert.equal(crawl.slots.delayOf('b.example'), 500)
    } finally {
      await crawl.close()
    }
  })

  test('a delay that an earlier process learned is eased, down to what the host asks for, and its reason stays', async () => {
    const crawl = await openCrawl({ settings: { slot } })
    const handler = await autothrottle(crawl.crawl)
    const found: Record<string, [number, string | undefined][]> = {}
    try {
      crawl.slots.restore([
        { slot: 'learned.example', delayMs: 1_000, leastDelayMs: 0, pausedUntil: 0, reason: 'http 503' },
        { slot: 'asks.example', delayMs: 2_000, leastDelayMs: 1_500, pausedUntil: 0, reason: 'timeout' },
      ])
      for (const host of ['learned.example', 'asks.example']) {
        const request = new Request(`http://${host}/`)
        found[host] = []
        for (let count = 0; count < 5; count++) {
          await handler(request, async () => answer(request))
          const state = crawl.slots.states().find((state) => state.slot === host)
          found[host].push([crawl.slots.delayOf(host), state?.reason])
        }
      }
    } finally {
      await crawl.close()
    }
    assert.deepEqual(found['learned.example'], [[800, 'http 503'], [640, 'http 503'], [512, 'http 503'], [500, ''], [500, '']])
    assert.deepEqual(found['asks.example']?.slice(0, 2).map(([delayMs]) => delayMs), [1_600, 1_500])
    assert.deepEqual(found['asks.example']?.at(-1)?.[0], 1_500)
  })

  test('what one process has learned is what the next one begins with, without taking it for the least', async () => {
    const kept = new Map<string, SlotMemory>()
    const request = new Request('http://a.example/')
    const process = async (statuses: readonly number[]): Promise<number[]> => {
      const crawl = await openCrawl({ settings: { slot } })
      crawl.slots.restore(kept.values())
      crawl.slots.onMemory((memory) => kept.set(memory.slot, memory))
      const handler = await autothrottle(crawl.crawl)
      const found = [crawl.slots.delayOf('a.example')]
      for (const status of statuses) {
        await handler(request, async () => answer(request, { status }))
        found.push(crawl.slots.delayOf('a.example'))
      }
      crawl.slots.flush()
      await crawl.close()
      return found
    }
    assert.deepEqual(await process([503]), [500, 1_000])
    assert.deepEqual(await process([200]), [1_000, 800])
    assert.deepEqual(await process([200, 200, 200]), [800, 640, 512, 500])
    assert.deepEqual(kept.get('a.example'), { slot: 'a.example', delayMs: 0, leastDelayMs: 0, pausedUntil: 0, reason: '' })
  })

  test('slows all hosts of a domain where they share a slot, from the delay that is set for it', async () => {
    const settings = { slot: { ...slot, by: 'domain' }, hosts: { 'example.com': { delayMs: 2_000 } } } as const
    const crawl = await openCrawl({ settings })
    const handler = await autothrottle(crawl.crawl)
    const get = async (url: string, status: number) => {
      const request = new Request(url)
      await handler(request, async () => answer(request, { status }))
      return crawl.slots.delayOf('example.com')
    }
    try {
      assert.equal(await get('http://a.example.com/', 503), 4_000)
      assert.equal(await get('http://b.example.com/', 503), 8_000)
      assert.equal(await get('http://c.example.com/', 200), 6_400)
      for (let count = 0; count < 10; count++) await get('http://example.com/', 200)
      assert.equal(crawl.slots.delayOf('example.com'), 2_000)
    } finally {
      await crawl.close()
    }
  })

  test('pauses the host for a Retry-After, or for the back-off after a plain 429', async () => {
    const pause = async (...answers: Answered[]): Promise<number> => {
      let pausedMs = 0
      await delays({ slot, retry: { backoffMs: 4_000, maxBackoffMs: 10_000 } }, answers, (crawl) => {
        const [state] = crawl.slots.states()
        pausedMs = state === undefined || state.pausedUntil === 0 ? 0 : state.pausedUntil - Date.now()
        if (pausedMs > 0) assert.match(state?.reason ?? '', /^http (429|503|403)$/)
      })
      return Math.round(pausedMs / 1_000)
    }
    assert.equal(await pause({ status: 429, headers: { 'retry-after': '30' } }), 30)
    assert.equal(await pause({ status: 503, headers: { 'retry-after': '9999' } }), 100)
    assert.equal(await pause({ status: 429 }), 4)
    assert.equal(await pause({ status: 429 }, { status: 429 }), 8)
    assert.equal(await pause({ status: 429 }, { status: 429 }, { status: 429 }), 10)
    assert.equal(await pause({ status: 503 }), 0)
    assert.equal(await pause({ status: 403 }), 0)
  })

  test('only pauses when it is switched off', async () => {
    const answers = [{ status: 429, headers: { 'retry-after': '30' } }, { firstByteMs: 9_000 }]
    const found = await delays({ slot, autothrottle: { enabled: false } }, answers, (crawl) => {
      assert.ok(crawl.slots.readyAt('a.example') > Date.now() + 20_000)
    })
    assert.deepEqual(found, [500, 500])
  })

  test('slows a real host that refuses', async () => {
    const server = await serve((_, response) => response.writeHead(503).end())
    const crawl = await openCrawl({ middlewares: [autothrottle] })
    try {
      assert.equal((await crawl.fetch(server.url)).status, 503)
      assert.equal(crawl.slots.delayOf(server.host), 250)
    } finally {
      await crawl.close()
      await server.close()
    }
  })
})
