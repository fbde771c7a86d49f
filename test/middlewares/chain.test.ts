import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Request } from '../../framework/http/request.ts'
import type { ImageResponse } from '../../framework/http/response.ts'
import { downloaderMiddlewares } from '../../middlewares/index.ts'
import { serve } from '../downloader/server.ts'
import { openCrawl } from './crawl.ts'

describe('all downloader middlewares together', () => {
  test('hold for every hop, in the order of the list', async () => {
    const seen: string[] = []
    const cdn = await serve((request, response) => {
      seen.push(`cdn ${request.url} ${request.headers.referer ?? '-'}`)
      if (request.url === '/robots.txt') response.end('User-agent: *\nDisallow: /secret')
      else response.writeHead(200, { 'content-type': 'image/jpeg' }).end('jpeg')
    })
    const site = await serve((request, response) => {
      seen.push(`site ${request.url} ${request.headers.cookie ?? '-'}`)
      if (request.url === '/robots.txt') response.writeHead(404).end()
      else if (request.url === '/limit') response.writeHead(429, { 'retry-after': '30' }).end()
      else response.writeHead(302, { location: cdn.url + request.url, 'set-cookie': 'seen=1' }).end()
    })
    const crawl = await openCrawl({ middlewares: downloaderMiddlewares, allowedDomains: [site.host] })
    const image = (path: string): Request => new Request(site.url + path, { kind: 'image', referer: `${site.url}/page?x` })
    try {
      const response = (await crawl.fetch(image('/i.jpg'))) as ImageResponse
      assert.equal(response.size, 4)
      assert.deepEqual(response.redirects, [{ url: `${site.url}/i.jpg`, status: 302 }])
      await assert.rejects(crawl.fetch(image('/secret.jpg')), { code: 'ignore', reason: 'robots' })
      await assert.rejects(crawl.fetch(`${site.url}/page`), { code: 'ignore', reason: 'off site' })
      assert.deepEqual(seen, [
        'site /robots.txt -',
        'site /i.jpg -',
        'cdn /robots.txt -',
        `cdn /i.jpg ${site.url}/`,
        'site /secret.jpg seen=1',
        'site /page seen=1',
      ])
      await assert.rejects(crawl.fetch(`${site.url}/limit`), { code: 'retry', reason: 'http 429', afterMs: 30_000, counted: false })
      assert.ok(crawl.slots.readyAt(site.host) > Date.now() + 20_000)
      assert.equal(crawl.slots.delayOf(site.host), 250)
    } finally {
      await crawl.close()
      await site.close()
      await cdn.close()
    }
  })
})
