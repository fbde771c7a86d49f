import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { describe, test } from 'node:test'
import { Request, type RequestOptions } from '../../framework/http/request.ts'
import type { SettingsInput } from '../../framework/settings/schema.ts'
import { referer } from '../../middlewares/referer.ts'
import { userAgent } from '../../middlewares/user-agent.ts'
import { serve } from '../downloader/server.ts'
import { answer, openCrawl } from './crawl.ts'

describe('headers', () => {
  /** What a server sees of a request. */
  async function seen(options: RequestOptions = {}, settings: SettingsInput = {}): Promise<IncomingHttpHeaders> {
    let headers: IncomingHttpHeaders = {}
    const crawl = await openCrawl({ middlewares: [userAgent, referer], settings })
    const server = await serve((request, response) => {
      headers = request.headers
      response.end()
    })
    try {
      await crawl.fetch(new Request(server.url, options))
      return headers
    } finally {
      await crawl.close()
      await server.close()
    }
  }

  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

  test('says who asks, and for what', async () => {
    const page = await seen()
    assert.equal(page['user-agent'], `orbweaver/${version}`)
    assert.match(page.accept ?? '', /^text\/html,/)
    assert.equal(page['accept-encoding'], 'gzip, deflate, br')
    const image = await seen({ kind: 'image' }, { contact: 'https://me.example/bot' })
    assert.equal(image['user-agent'], `orbweaver/${version} (+https://me.example/bot)`)
    assert.match(image.accept ?? '', /^image\/avif,image\/webp/)
    assert.equal((await seen({}, { userAgent: 'MyBot/1.0' }))['user-agent'], 'MyBot/1.0')
  })

  test('leaves headers of the request itself as they are, in any letter case', async () => {
    const own = { 'USER-AGENT': 'own', Accept: 'a/b', 'X-Own': '1', Referer: 'http://x/' }
    const headers = await seen({ headers: own, referer: 'http://y.example/' })
    assert.equal(headers['user-agent'], 'own')
    assert.equal(headers.accept, 'a/b')
    assert.equal(headers['x-own'], '1')
    assert.equal(headers.referer, 'http://x/')
  })

  test('refuses a name that is no header value', async () => {
    await assert.rejects(seen({}, { userAgent: 'a\r\nb' }), { code: 'settings', message: /userAgent/ })
    await assert.rejects(seen({}, { contact: '→' }), { code: 'settings' })
  })

  test('sends the page as referer: whole within its origin, the origin to others, nothing from https to http', async () => {
    const crawl = await openCrawl()
    const handler = await referer(crawl.crawl)
    const cases: [page: string, target: string, expected: string | undefined][] = [
      ['http://u:p@a.example/p?token=1#part', 'http://a.example/i.jpg', 'http://a.example/p?token=1'],
      ['http://a.example/p?token=1', 'http://b.example/i.jpg', 'http://a.example/'],
      ['http://a.example/p', 'http://a.example:8080/i.jpg', 'http://a.example/'],
      ['http://a.example/p', 'https://a.example/i.jpg', 'http://a.example/'],
      ['https://a.example/p', 'https://a.example/i.jpg', 'https://a.example/p'],
      ['https://a.example/p', 'http://a.example/i.jpg', undefined],
      [`http://a.example/${'x'.repeat(5_000)}`, 'http://a.example/i.jpg', 'http://a.example/'],
      ['file:///home/me/page.html', 'http://a.example/i.jpg', undefined],
      ['no url', 'http://a.example/i.jpg', undefined],
    ]
    try {
      for (const [page, target, expected] of cases) {
        await handler(new Request(target, { referer: page }), async (request) => {
          assert.equal(request.headers['referer'], expected, `${page} → ${target}`)
          return answer(request)
        })
      }
    } finally {
      await crawl.close()
    }
    assert.equal((await seen({ referer: 'http://a.example/p' })).referer, 'http://a.example/')
    assert.equal((await seen()).referer, undefined)
  })
})
