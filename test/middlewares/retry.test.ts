import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RetryRequest } from '../../framework/errors.ts'
import { Request } from '../../framework/http/request.ts'
import { httpError } from '../../middlewares/http-error.ts'
import { retry } from '../../middlewares/retry.ts'
import { serve, serveRaw, type TestServer } from '../downloader/server.ts'
import { openCrawl, type TestCrawl } from './crawl.ts'

describe('retry and http-error', () => {
  async function inCrawl(start: Promise<TestServer>, work: (crawl: TestCrawl, url: string) => Promise<void>) {
    const server = await start
    const crawl = await openCrawl({ middlewares: [httpError, retry], settings: { retry: { maxBackoffMs: 1_000 } } })
    try {
      await work(crawl, server.url)
    } finally {
      await crawl.close()
      await server.close()
    }
  }

  const failure = (work: Promise<unknown>): Promise<RetryRequest> => {
    return work.then(
      () => assert.fail('it succeeded'),
      (error: RetryRequest) => error,
    )
  }

  test('tries the statuses of the setting again, and ignores all others beyond 299 by their status', async () => {
    const status = serve((request, response) => response.writeHead(Number(request.url?.slice(1))).end())
    await inCrawl(status, async (crawl, url) => {
      for (const again of [408, 425, 429, 500, 502, 503, 504, 522, 524]) {
        const { code, reason, afterMs, counted } = await failure(crawl.fetch(`${url}/${again}`))
        const expected = { code: 'retry', reason: `http ${again}`, afterMs: undefined, counted: again !== 429 }
        assert.deepEqual({ code, reason, afterMs, counted }, expected)
      }
      for (const never of [300, 301, 304, 400, 401, 403, 404, 410, 451, 501, 505, 511, 599]) {
        await assert.rejects(crawl.fetch(`${url}/${never}`), { code: 'ignore', reason: `http ${never}` })
      }
      for (const good of [200, 201, 204, 299]) assert.equal((await crawl.fetch(`${url}/${good}`)).status, good)
    })
  })

  test('waits as Retry-After says: seconds, or a date by the clock of the server, up to ten times the longest back-off', async () => {
    const now = Date.now() + 86_400_000
    const date = (ms: number): string => new Date(now + ms).toUTCString()
    const cases: [value: string, afterMs: number | undefined][] = [
      ['2', 2_000],
      ['0', 0],
      ['86400', 10_000],
      [date(3_000), 3_000],
      [date(-60_000), 0],
      [date(999_000_000), 10_000],
      ['soon', undefined],
      ['-5', undefined],
      ['', undefined],
    ]
    for (const [value, afterMs] of cases) {
      const answer = serve((_, response) => response.writeHead(503, { 'retry-after': value, date: date(0) }).end())
      await inCrawl(answer, async (crawl, url) => {
        const error = await failure(crawl.fetch(url))
        assert.equal(error.afterMs, afterMs, value)
        assert.equal(error.counted, afterMs === undefined, value)
      })
    }
  })

  test('tries again what the network lost, and not what stays as it is', async () => {
    await inCrawl(serveRaw((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut')), async (crawl, url) => {
      const error = await failure(crawl.fetch(url))
      assert.equal(error.code, 'retry')
      assert.equal(error.reason, 'reset')
      assert.equal(error.counted, true)
      assert.equal((error.cause as Error & { code: string }).code, 'download')
    })
    await inCrawl(serveRaw((socket) => socket.end('nonsense\r\n\r\n')), async (crawl, url) => {
      await assert.rejects(crawl.fetch(url), { code: 'download', reason: 'bad response' })
    })
  })

  test('repeats what may be repeated, and a POST only when nothing was sent', async () => {
    await inCrawl(serve((_, response) => response.writeHead(503).end()), async (crawl, url) => {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) {
        await assert.rejects(crawl.fetch(new Request(url, { method })), { code: 'retry' })
      }
      for (const method of ['POST', 'PATCH']) {
        await assert.rejects(crawl.fetch(new Request(url, { method })), { code: 'ignore', reason: 'http 503' })
      }
    })
    await inCrawl(serveRaw((socket) => socket.destroy()), async (crawl, url) => {
      await assert.rejects(crawl.fetch(new Request(url, { method: 'POST', body: 'x' })), { code: 'download', reason: 'reset' })
    })
    const gone = await serve(() => {})
    await gone.close()
    await inCrawl(serve(() => {}), async (crawl) => {
      await assert.rejects(crawl.fetch(new Request(gone.url, { method: 'POST', body: 'x' })), { code: 'retry', reason: 'refused' })
    })
  })

  test('leaves the end of the crawl alone', async () => {
    await inCrawl(serve(() => {}), async (crawl, url) => {
      const reason = new Error('stop')
      const end = assert.rejects(crawl.fetch(url), (error) => error === reason)
      crawl.abort(reason)
      await end
    })
  })
})
