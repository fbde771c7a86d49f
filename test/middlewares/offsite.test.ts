import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Request } from '../../framework/http/request.ts'
import { offsite } from '../../middlewares/offsite.ts'
import { redirect } from '../../middlewares/redirect.ts'
import { serve } from '../downloader/server.ts'
import { answer, openCrawl } from './crawl.ts'

const words = (text: string): string[] => text.trim().split(/\s+/)

describe('offsite', () => {
  async function isAllowed(url: string, allowedDomains: readonly string[], kind: 'page' | 'image' = 'page'): Promise<boolean> {
    const crawl = await openCrawl({ allowedDomains })
    try {
      const handler = await offsite(crawl.crawl)
      await handler(new Request(url, { kind }), async (request) => answer(request))
      return true
    } catch (error) {
      assert.equal((error as { reason?: string }).reason, 'off site', String(error))
      return false
    } finally {
      await crawl.close()
    }
  }

  test('keeps pages on the allowed domains and their subdomains', async () => {
    const domains = words(`
      a.example Bücher.example *.wild.example .dot.example only.example:8080 10.0.0.1 [::1] tls.example:443 end.example.`)
    const good = words(`
      http://a.example/ https://www.a.example:99/ http://A.EXAMPLE./ http://x.y.a.example/ http://xn--bcher-kva.example/
      http://wild.example/ http://b.dot.example/ http://only.example:8080/ http://sub.only.example:8080/ http://10.0.0.1:81/
      http://[::1]:82/ https://tls.example/ http://end.example/`)
    const bad = words(`
      http://example/ http://nota.example/ http://a.example.evil.test/ http://evil.test/a.example http://a.example@evil.test/
      http://only.example/ http://110.0.0.1/ http://0.0.1/ http://tls.example/ http://[::2]/ http:\\\\evil.test\\a.example`)
    for (const url of good) assert.ok(await isAllowed(url, domains), url)
    for (const url of bad) assert.ok(!(await isAllowed(url, domains)), url)
  })

  test('lets images come from anywhere, and everything where no domain is named', async () => {
    assert.ok(await isAllowed('http://cdn.test/i.jpg', ['a.example'], 'image'))
    assert.ok(await isAllowed('http://b.example/', []))
  })

  test('refuses what is no domain when the crawl opens', async () => {
    for (const entry of ['http://a.example/', 'a.example/path', 'a b', '', 'user@a.example']) {
      const crawl = await openCrawl({ allowedDomains: [entry] })
      assert.throws(() => offsite(crawl.crawl), { code: 'settings', message: /allowedDomains/ }, entry)
      await crawl.close()
    }
  })

  test('holds for every hop of a redirect', async () => {
    const server = await serve(({ socket }, response) => {
      response.writeHead(302, { location: `http://localhost:${socket.localPort}/` }).end()
    })
    const crawl = await openCrawl({ allowedDomains: ['127.0.0.1'], middlewares: [redirect, offsite] })
    try {
      await assert.rejects(crawl.fetch(server.url), { code: 'ignore', reason: 'off site', message: /localhost/ })
      assert.equal(server.asked.length, 1)
    } finally {
      await crawl.close()
      await server.close()
    }
  })
})
