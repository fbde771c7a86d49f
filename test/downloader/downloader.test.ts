import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DownloaderMiddleware } from '../../framework/crawl.ts'
import type { RetryRequest } from '../../framework/errors.ts'
import { Request } from '../../framework/http/request.ts'
import { openCrawl, type TestCrawl, type TestCrawlOptions } from '../middlewares/crawl.ts'
import { serve, type TestServer } from './server.ts'

/** Asks for another URL, as robots and redirect do, before the request itself. */
const askFirst = (path: string): DownloaderMiddleware => () =>
  async function askFirst(request, next) {
    await next(new Request(new URL(path, request.url)))
    return next(request)
  }

describe('downloader', () => {
  type Work = (crawl: TestCrawl, server: TestServer) => Promise<void>

  async function inCrawl(options: TestCrawlOptions, start: Promise<TestServer>, work: Work) {
    const server = await start
    const crawl = await openCrawl(options)
    try {
      await work(crawl, server)
      assert.deepEqual(crawl.slots.states().filter(({ active }) => active > 0), [], 'every place is given back')
    } finally {
      await crawl.close()
      await server.close()
    }
  }

  test('enters the slot for every use of a socket, so that a host never sees more at once than allowed', async () => {
    let active = 0
    let most = 0
    const slow = serve((_, response) => {
      most = Math.max(most, ++active)
      setTimeout(() => {
        active--
        response.end()
      }, 5)
    })
    const options = { settings: { slot: { concurrency: 2 } }, middlewares: [askFirst('/first'), askFirst('/second')] }
    await inCrawl(options, slow, async (crawl, { url, asked }) => {
      await Promise.all(Array.from({ length: 10 }, (_, index) => crawl.fetch(`${url}/${index}`)))
      assert.equal(asked.length, 40)
      assert.equal(most, 2)
    })
  })

  test('keeps the delay between the hops of one request', async () => {
    const options = { settings: { slot: { delayMs: 60 } }, middlewares: [askFirst('/first')] }
    await inCrawl(options, serve((_, response) => response.end()), async (crawl, { url, host }) => {
      await crawl.fetch(url)
      const nextAt = crawl.slots.readyAt(host)
      assert.ok(nextAt > Date.now() + 20, 'the second hop began the delay anew')
    })
  })

  test('gives back the visit of a request that never came to the socket', async () => {
    const refuse: DownloaderMiddleware = () => async (request, next) => {
      if (request.url.endsWith('/no')) throw new Error('not wanted')
      return next(request)
    }
    const options = { settings: { slot: { delayMs: 60_000 } }, middlewares: [refuse] }
    await inCrawl(options, serve((_, response) => response.end()), async (crawl, { url }) => {
      await assert.rejects(crawl.fetch(`${url}/no`), /not wanted/)
      assert.equal((await crawl.fetch(`${url}/yes`)).status, 200)
    })
  })

  test('uses the visit for the first hop of its own slot only', async () => {
    const other = await serve((_, response) => response.end())
    try {
      const elsewhere: DownloaderMiddleware = () => async (request, next) => {
        await next(new Request(other.url))
        return next(request)
      }
      const options = { settings: { slot: { concurrency: 1, delayMs: 60_000 } }, middlewares: [elsewhere] }
      await inCrawl(options, serve((_, response) => response.end()), async (crawl, { url }) => {
        assert.equal((await crawl.fetch(url)).status, 200)
        assert.ok(crawl.slots.readyAt(other.host) > Date.now())
      })
    } finally {
      await other.close()
    }
  })

  test('ends though requests that fill a slot wait for one that needs it again', async () => {
    // As for robots.txt: the first request fetches it in two hops, all others of the host wait for that.
    let shared: Promise<unknown> | undefined
    const waitForOne: DownloaderMiddleware = () => async (request, next) => {
      const ask = (path: string) => next(new Request(new URL(path, request.url)))
      shared ??= (async () => {
        await ask('/shared')
        await ask('/moved')
      })()
      await shared
      return next(request)
    }
    for (const concurrency of [1, 2]) {
      shared = undefined
      const options = { settings: { slot: { concurrency, delayMs: 3 } }, middlewares: [waitForOne] }
      await inCrawl(options, serve((_, response) => response.end()), async (crawl, { url, asked }) => {
        const pages = await Promise.all(Array.from({ length: 12 }, (_, index) => crawl.fetch(`${url}/${index}`)))
        assert.equal(pages.length, 12)
        assert.deepEqual(asked.slice(0, 2), ['GET /shared', 'GET /moved'])
        assert.equal(asked.length, 14)
      })
    }
  })

  test('leaves it to the frontier to wait for a host that has asked for a long pause', async () => {
    const pauseBetween: DownloaderMiddleware = ({ slots }) =>
      async function pauseBetween(request, next) {
        await next(request)
        slots.pauseUntil(request.slot, Date.now() + 60_000)
        return next(request)
      }
    const options = { settings: { slot: { concurrency: 1 } }, middlewares: [pauseBetween] }
    await inCrawl(options, serve((_, response) => response.end()), async (crawl, { url }) => {
      await assert.rejects(crawl.fetch(url), (error: RetryRequest) => {
        assert.equal(error.reason, 'host paused')
        assert.equal(error.counted, false)
        assert.ok((error.afterMs ?? 0) > 50_000)
        return true
      })
    })
  })

  test('frees a request that waits for a place when its host is paused meanwhile', async () => {
    let release = (): void => {}
    const other = await serve((_, response) => (release = () => void response.end()))
    const askOther: DownloaderMiddleware = () => async (request, next) => {
      if (request.slot !== other.host) await next(new Request(`${other.url}/needed`))
      return next(request)
    }
    const options = { settings: { slot: { concurrency: 1 } }, middlewares: [askOther] }
    try {
      await inCrawl(options, serve((_, response) => response.end()), async (crawl, { url }) => {
        const holding = crawl.fetch(`${other.url}/holds`)
        while (other.asked.length === 0) await new Promise((resolve) => setImmediate(resolve))
        const waiting = assert.rejects(crawl.fetch(url), { code: 'retry', reason: 'host paused' })
        crawl.slots.pauseUntil(other.host, Date.now() + 60_000)
        release()
        await Promise.all([holding, waiting])
        assert.deepEqual(other.asked, ['GET /holds'])
      })
    } finally {
      await other.close()
    }
  })

  test('ends the waiting for a place when the crawl is aborted', async () => {
    const silent = serve(() => {})
    await inCrawl({ settings: { slot: { concurrency: 1 } }, middlewares: [askFirst('/first')] }, silent, async (crawl, { url }) => {
      const reason = new Error('stop')
      const ends = [1, 2, 3].map((index) => assert.rejects(crawl.fetch(`${url}/${index}`), (error) => error === reason))
      crawl.abort(reason)
      await Promise.all(ends)
    })
  })

  test('is through with middlewares that answer themselves, ask twice or change the request', async () => {
    const twice: DownloaderMiddleware = () => async (request, next) => {
      await next(request.with({ headers: { 'x-try': '1' } }))
      return next(request.with({ headers: { 'x-try': '2' } }))
    }
    const echo = serve((request, response) => response.writeHead(200, { 'x-try': request.headers['x-try'] ?? '' }).end())
    await inCrawl({ middlewares: [twice] }, echo, async (crawl, { url, asked }) => {
      assert.equal((await crawl.fetch(url)).headers['x-try'], '2')
      assert.equal(asked.length, 2)
    })
  })
})
