import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Request } from '../../framework/http/request.ts'
import { cookies } from '../../middlewares/cookies.ts'
import { redirect } from '../../middlewares/redirect.ts'
import { serve } from '../downloader/server.ts'
import { answer, openCrawl } from './crawl.ts'

describe('cookies', () => {
  type Step = readonly [url: string, setCookie?: string | undefined, own?: Record<string, string>]

  /** Goes through the steps and gives the Cookie header of each request. */
  async function sent(steps: readonly Step[], enabled = true): Promise<(string | undefined)[]> {
    const crawl = await openCrawl({ settings: { cookies: { enabled } } })
    const handler = await cookies(crawl.crawl)
    const found: (string | undefined)[] = []
    try {
      for (const [url, setCookie, headers = {}] of steps) {
        await handler(new Request(url, { headers }), async (request) => {
          found.push(request.headers['cookie'] ?? request.headers['Cookie'])
          return answer(request, { headers: setCookie === undefined ? {} : { 'set-cookie': setCookie } })
        })
      }
    } finally {
      await crawl.close()
    }
    return found
  }

  test('sends cookies back where they belong: host, domain, path, scheme, whatever the port', async () => {
    const found = await sent([
      ['http://a.example.org/dir/x', 'host=1\ndomain=2; Domain=example.org; Path=/\nsecure=3; Secure\npath=4; Path=/dir'],
      ['http://a.example.org/dir/y'],
      ['http://a.example.org:8080/dir/y'],
      ['http://a.example.org/other'],
      ['http://b.example.org/dir/y'],
      ['http://other.test/'],
    ])
    assert.deepEqual(found, [undefined, 'host=1; path=4; domain=2', 'host=1; path=4; domain=2', 'domain=2', 'domain=2', undefined])
    const secure = await sent([['https://a.example.org/', 's=1; Secure'], ['https://a.example.org/'], ['http://a.example.org/']])
    assert.deepEqual(secure, [undefined, 's=1', undefined])
  })

  test('refuses cookies for foreign sites and public suffixes', async () => {
    const foreign = 'a=1; Domain=other.test\nb=2; Domain=co.uk\nc=3; Domain=uk'
    const found = await sent([['http://x.co.uk/', foreign], ['http://x.co.uk/'], ['http://y.co.uk/'], ['http://other.test/']])
    assert.deepEqual(found, [undefined, undefined, undefined, undefined])
    assert.deepEqual(await sent([['http://a.github.io/', 'a=1; Domain=github.io'], ['http://b.github.io/']]), [undefined, undefined])
  })

  test('changes and removes cookies, and skips bad lines alone', async () => {
    const found = await sent([
      ['http://a.test/', 'a=1\nb=2'],
      ['http://a.test/', ';\njustaword\n=noname\n\na=new\nb=; Max-Age=0'],
      ['http://a.test/', 'c=1,2; Expires=Wed, 01 Jan 2070 00:00:00 GMT'],
      ['http://a.test/'],
    ])
    assert.deepEqual(found, [undefined, 'a=1; b=2', 'a=new', 'a=new; c=1,2'])
  })

  test('leaves a Cookie of the request itself as it is', async () => {
    const found = await sent([['http://a.test/', 'a=1'], ['http://a.test/', undefined, { Cookie: 'own=1' }], ['http://a.test/']])
    assert.deepEqual(found, [undefined, 'own=1', 'a=1'])
  })

  test('keeps nothing when it is switched off', async () => {
    assert.deepEqual(await sent([['http://a.test/', 'a=1'], ['http://a.test/']], false), [undefined, undefined])
  })

  test('bounds what a site can make it keep and send', async () => {
    const many = Array.from({ length: 200 }, (_, index) => `n${index}=${'x'.repeat(1_000)}`).join('\n')
    const [, header = ''] = await sent([['http://a.test/', `${many}\nlarge=${'x'.repeat(5_000)}`], ['http://a.test/']])
    assert.ok(header.length <= 8_192 && header.length > 7_000)
    assert.match(header, /^n0=x+; .*x$/)
  })

  test('forgets the cookies that were used least recently when there are too many', async () => {
    const fifty = Array.from({ length: 50 }, (_, index) => `c${index}=1`).join('\n')
    const flood = Array.from({ length: 220 }, (_, host): Step => [`http://h${host}.test/`, fifty])
    const found = await sent([['http://first.test/', 'early=1'], ...flood, ['http://first.test/'], ['http://h219.test/']])
    assert.equal(found.at(-2), undefined)
    assert.match(found.at(-1) ?? '', /c49=1/)
  })

  test('takes the cookie of a redirect to the next hop', async () => {
    const seen: (string | undefined)[] = []
    const server = await serve((request, response) => {
      seen.push(request.headers.cookie)
      if (request.url === '/a') response.writeHead(302, { location: '/b', 'set-cookie': ['s=old; Path=/', 't=1'] }).end()
      else if (request.url === '/b') response.writeHead(302, { location: '/c', 'set-cookie': 's=new; Path=/' }).end()
      else response.end()
    })
    const crawl = await openCrawl({ middlewares: [redirect, cookies] })
    try {
      await crawl.fetch(`${server.url}/a`)
      assert.deepEqual(seen, [undefined, 's=old; t=1', 's=new; t=1'].map((value) => value?.split('; ').sort().join('; ')))
    } finally {
      await crawl.close()
      await server.close()
    }
  })
})
