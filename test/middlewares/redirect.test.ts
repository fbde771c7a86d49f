import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Request } from '../../framework/http/request.ts'
import type { ImageResponse, PageResponse } from '../../framework/http/response.ts'
import { redirect } from '../../middlewares/redirect.ts'
import { serve, serveRaw, type TestServer } from '../downloader/server.ts'
import { answer, openCrawl, type TestCrawl } from './crawl.ts'

describe('redirect', () => {
  let crawl: TestCrawl
  let server: TestServer
  before(async () => {
    crawl = await openCrawl({ middlewares: [redirect], settings: { redirect: { max: 3 } } })
    server = await serve((request, response) => {
      const url = new URL(request.url ?? '', 'http://x')
      const status = Number(url.searchParams.get('status') ?? 302)
      const to = url.searchParams.get('to')
      const steps = Number(url.searchParams.get('steps') ?? 0)
      if (url.pathname === '/cookie-gate' && request.headers.cookie === undefined && server.asked.length < 3) {
        response.writeHead(302, { location: url.pathname, 'set-cookie': `gate=${server.asked.length}` }).end()
      } else if (url.pathname === '/ring-a') response.writeHead(302, { location: '/ring-b' }).end()
      else if (url.pathname === '/ring-b') response.writeHead(302, { location: '/ring-a' }).end()
      else if (url.pathname === '/endless') response.writeHead(302, { location: '/endless', 'set-cookie': 'a=b' }).end()
      else if (steps > 0) response.writeHead(302, { location: `/?steps=${steps - 1}` }).end()
      else if (to !== null) response.writeHead(status, { location: to }).end('moved')
      else {
        const { method, headers } = request
        let body = ''
        request.on('data', (data) => (body += data))
        request.on('end', () => response.end(JSON.stringify({ method, url: request.url, headers, body })))
      }
    })
  })
  after(async () => {
    await crawl.close()
    await server.close()
  })

  const to = (location: string, status = 302): string => `${server.url}/from?status=${status}&to=${encodeURIComponent(location)}`
  const fetched = async (request: string | Request) => {
    const page = (await crawl.fetch(request)) as PageResponse
    return { page, saw: page.json<{ method: string; url: string; headers: Record<string, string>; body: string }>() }
  }

  test('follows to the last answer, and says which way it came', async () => {
    const { page, saw } = await fetched(`${server.url}/?steps=3`)
    assert.equal(saw.url, '/?steps=0')
    assert.equal(page.url, `${server.url}/?steps=0`)
    assert.deepEqual(page.redirects, [3, 2, 1].map((steps) => ({ url: `${server.url}/?steps=${steps}`, status: 302 })))
  })

  test('gives up after redirect.max hops', async () => {
    const tooMany = { code: 'ignore', reason: 'too many redirects', message: /steps=4.*redirect\.max is 3/ }
    await assert.rejects(crawl.fetch(`${server.url}/?steps=4`), tooMany)
  })

  for (const [status, sent, expected] of [
    [301, 'GET', 'GET'],
    [302, 'HEAD', 'HEAD'],
    [303, 'HEAD', 'HEAD'],
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [301, 'PUT', 'PUT'],
    [302, 'DELETE', 'DELETE'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
    [308, 'PATCH', 'PATCH'],
  ] as const) {
    test(`${sent} becomes ${expected} after ${status}, its body going with the method`, async () => {
      const json = { body: '{"a":1}', headers: { 'Content-Type': 'application/json', 'x-keep': '1' } }
      const body = sent === 'GET' || sent === 'HEAD' ? {} : json
      const request = new Request(to('/end', status), { method: sent, ...body })
      if (sent === 'HEAD') {
        await crawl.fetch(request)
        return assert.equal(server.asked.at(-1), 'HEAD /end')
      }
      const { saw } = await fetched(request)
      const keeps = sent === expected && 'body' in body
      assert.equal(saw.method, expected)
      assert.equal(saw.body, keeps ? '{"a":1}' : '')
      assert.equal(saw.headers['content-type'], keeps ? 'application/json' : undefined)
      assert.equal(saw.headers['x-keep'], 'body' in body ? '1' : undefined)
    })
  }

  test('leaves other statuses alone', async () => {
    for (const status of [200, 201, 300, 304, 305, 306, 404, 500]) {
      assert.equal((await crawl.fetch(to('/end', status))).status, status)
    }
  })

  test('resolves what is relative, padded, or without a scheme', async () => {
    const targets = {
      '/a': '/a',
      'b?x=1': '/b?x=1',
      '?y': '/from?y',
      '  /c  ': '/c',
      '.': '/',
      [`//${server.host}/d`]: '/d',
      '/e e': '/e%20e',
      'http%3A//x/f': '/http%3A//x/f',
    }
    for (const [location, path] of Object.entries(targets)) assert.equal((await fetched(to(location))).saw.url, path)
  })

  test('keeps the fragment, unless the target has one', async () => {
    assert.equal((await fetched(`${to('/a')}#part`)).page.url, `${server.url}/a#part`)
    assert.equal((await fetched(`${to('/a#new')}#part`)).page.url, `${server.url}/a#new`)
  })

  test('reads raw bytes of a Location as UTF-8 where they are, else escapes them one by one', async () => {
    const locations: Record<string, string> = { '/utf8': '/\xd1\x84\xd0\xbe/a.jpg', '/latin1': '/caf\xe9.jpg' }
    const raw = await serveRaw((socket, head) => {
      const location = locations[head.split(' ')[1] ?? '']
      const status = location === undefined ? '200 OK' : `302 Found\r\nLocation: ${location}`
      socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`, 'latin1')
    })
    try {
      for (const path of Object.keys(locations)) await crawl.fetch(raw.url + path)
      assert.deepEqual(raw.asked.filter((_, index) => index % 2 === 1), ['GET /%D1%84%D0%BE/a.jpg', 'GET /caf%E9.jpg'])
    } finally {
      await raw.close()
    }
  })

  test('ignores what leads nowhere, with its reason', async () => {
    const schemes = ['javascript:alert(1)', 'data:text/plain,x', 'file:///etc/passwd', 'ftp://x/', 'mailto:a@b.c']
    for (const location of [...schemes, 'http://[bad/', 'http://a.example:99999/', '']) {
      await assert.rejects(crawl.fetch(to(location)), { code: 'ignore', reason: 'bad redirect' }, location)
    }
    const missing = await serve((_, response) => response.writeHead(302).end())
    await assert.rejects(crawl.fetch(missing.url), { reason: 'bad redirect' }).finally(() => missing.close())
  })

  test('finds loops, but lets a page send to itself for a cookie, and not for ever', async () => {
    const loop = { reason: 'redirect loop', message: /ring-a \(302\) → .*ring-b \(302\), back to/ }
    await assert.rejects(crawl.fetch(`${server.url}/ring-a`), loop)
    server.asked.length = 0
    assert.equal((await crawl.fetch(`${server.url}/cookie-gate`)).status, 200)
    assert.equal(server.asked.length, 3)
    await assert.rejects(crawl.fetch(`${server.url}/endless`), { reason: 'too many redirects' })
  })

  test('does not hand secrets to another origin', async () => {
    const other = await serve((request, response) => response.end(JSON.stringify({ headers: request.headers })))
    const secrets = { Authorization: 'Bearer x', cookie: 'a=b', 'Proxy-Authorization': 'y', 'X-Api-Key': 'k', 'x-csrf-token': 't' }
    const headers = { ...secrets, 'x-plain': '1' }
    try {
      const away = await fetched(new Request(to(other.url), { headers }))
      for (const name of Object.keys(secrets)) assert.equal(away.saw.headers[name.toLowerCase()], undefined, name)
      assert.equal(away.saw.headers['x-plain'], '1')
      const home = await fetched(new Request(to('/end'), { headers }))
      for (const [name, value] of Object.entries(headers)) assert.equal(home.saw.headers[name.toLowerCase()], value)
      const user = to('/end').replace('//', '//user:pw@')
      assert.match((await fetched(user)).saw.headers['authorization'] ?? '', /^Basic /)
      assert.equal((await fetched(to(other.url).replace('//', '//user:pw@'))).saw.headers['authorization'], undefined)
    } finally {
      await other.close()
    }
  })

  test('names no credentials in its messages', async () => {
    const url = `${server.url}/?steps=9`.replace('//', '//user:hush@')
    await assert.rejects(crawl.fetch(url), (error: Error) => !error.message.includes('hush') && error.message.includes('steps=8'))
  })

  test('follows for images, and moves the request to the slot of the new host', async () => {
    const handler = await redirect(crawl.crawl)
    const slots: string[] = []
    await handler(new Request('http://a.example/i.jpg', { kind: 'image' }), async (request) => {
      slots.push(`${request.kind} ${request.slot}`)
      if (slots.length > 1) return answer(request)
      return answer(request, { status: 301, headers: { location: 'https://cdn.example/i.jpg' } })
    })
    assert.deepEqual(slots, ['image a.example', 'image cdn.example'])
    const image = (await crawl.fetch(new Request(to('/end'), { kind: 'image' }))) as ImageResponse
    assert.equal(image.kind, 'image')
    assert.equal(image.redirects.length, 1)
  })
})
