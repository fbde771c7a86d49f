import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Request } from '../../framework/http/request.ts'
import type { SettingsInput } from '../../framework/settings/schema.ts'
import { openCrawl, type TestCrawl } from '../middlewares/crawl.ts'
import { serve, serveRaw, type TestServer } from './server.ts'

describe('time limits', () => {
  type Work = (crawl: TestCrawl, url: string) => Promise<void>

  async function inCrawl(settings: SettingsInput, start: Promise<TestServer>, work: Work) {
    const server = await start
    const crawl = await openCrawl({ settings })
    try {
      await work(crawl, server.url)
      assert.deepEqual(crawl.slots.states().filter(({ active }) => active > 0), [])
      assert.deepEqual(await crawl.temporaryFiles(), [])
    } finally {
      await crawl.close()
      await server.close()
    }
  }

  test('a connection that does not come about, TLS included', async () => {
    await inCrawl({ timeout: { connectMs: 80 } }, serveRaw(() => {}), async (crawl, url) => {
      const request = crawl.fetch(url.replace('http:', 'https:'))
      await assert.rejects(request, { reason: 'timeout', transient: true, message: /No connection to 127.0.0.1 within 80 ms/ })
    })
  })

  test('no answer', async () => {
    await inCrawl({ timeout: { firstByteMs: 80 } }, serve(() => {}), async (crawl, url) => {
      await assert.rejects(crawl.fetch(url), { reason: 'timeout', transient: true, message: /sent nothing for 80 ms/ })
    })
  })

  test('a head that never ends', async () => {
    const drip = serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX: ')
      const timer = setInterval(() => socket.write('x'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    await inCrawl({ timeout: { firstByteMs: 150 } }, drip, async (crawl, url) => {
      await assert.rejects(crawl.fetch(url), { reason: 'timeout' })
    })
  })

  test('silence in the middle of a body', async () => {
    const stall = serve((_, response) => void response.writeHead(200, { 'content-length': 10 }).write('abc'))
    await inCrawl({ timeout: { firstByteMs: 80 } }, stall, async (crawl, url) => {
      for (const kind of ['page', 'image'] as const) {
        await assert.rejects(crawl.fetch(new Request(url, { kind })), { reason: 'timeout' })
      }
    })
  })

  test('a body that drips without an end', async () => {
    const drip = serve((_, response) => {
      response.write('x')
      const timer = setInterval(() => response.write('x'), 20)
      response.on('close', () => clearInterval(timer))
    })
    await inCrawl({ timeout: { firstByteMs: 10_000, totalMs: 200 } }, drip, async (crawl, url) => {
      for (const kind of ['page', 'image'] as const) {
        await assert.rejects(crawl.fetch(new Request(url, { kind })), { reason: 'timeout', message: /not complete within 200 ms/ })
      }
    })
  })

  test('the end of the crawl ends what is in progress, with the reason that was given', async () => {
    let arrived = (): void => {}
    const started = new Promise<void>((resolve) => (arrived = resolve))
    let count = 0
    const stall = serve((request, response) => {
      if (request.url === '/body') response.write('x')
      if (++count === 2) arrived()
    })
    await inCrawl({ slot: { concurrency: 2 } }, stall, async (crawl, url) => {
      const reason = new Error('stop')
      const ends = [`${url}/head`, `${url}/body`, `${url}/waits`].map((one) => {
        return assert.rejects(crawl.fetch(new Request(one, { kind: 'image' })), (error) => error === reason)
      })
      await started
      crawl.abort(reason)
      await Promise.all(ends)
    })
  })
})
