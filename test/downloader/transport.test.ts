import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Request } from '../../framework/http/request.ts'
import type { ImageResponse, PageResponse } from '../../framework/http/response.ts'
import { openCrawl, type TestCrawl } from '../middlewares/crawl.ts'
import { serve, serveRaw, type TestServer } from './server.ts'

const picture = randomBytes(700_000)
const image = (url: string): Request => new Request(url, { kind: 'image' })

describe('transport', () => {
  let crawl: TestCrawl
  before(async () => {
    crawl = await openCrawl({ settings: { pages: { maxBytes: 1_000_000 }, images: { maxBytes: 1_000_000 } } })
  })
  after(() => crawl.close())

  async function withServer(start: Promise<TestServer>, work: (server: TestServer) => Promise<void>): Promise<void> {
    const server = await start
    try {
      await work(server)
    } finally {
      await server.close()
    }
    const active = crawl.slots.states().filter(({ active }) => active > 0)
    assert.deepEqual(active, [], 'every place is given back')
    assert.deepEqual(await crawl.temporaryFiles(), kept, 'no temporary file is left')
  }
  let kept: string[] = []

  test('gives a page with its status, headers, size and times', async () => {
    const answer = (socket: { write(data: string, encoding: 'latin1'): unknown }): void => {
      const fields = ['X-Name: caf\xe9', 'A: 1', 'a: 2', 'Set-Cookie: a=1', 'Set-Cookie: b=2, 3', 'Content-Length: 5']
      socket.write(`HTTP/1.1 201 Fine\r\n${fields.join('\r\n')}\r\n\r\nhello`, 'latin1')
    }
    await withServer(serveRaw(answer), async (server) => {
      const page = (await crawl.fetch(server.url)) as PageResponse
      assert.equal(page.kind, 'page')
      assert.equal(page.status, 201)
      assert.equal(page.text, 'hello')
      assert.equal(page.wireBytes, 5)
      assert.equal(page.headers['x-name'], 'caf\xe9')
      assert.equal(page.headers['a'], '1, 2')
      assert.equal(page.headers['set-cookie'], 'a=1\nb=2, 3')
      assert.ok(page.timing.firstByteMs > 0 && page.timing.totalMs >= page.timing.firstByteMs)
    })
  })

  test('answers every status from 200 to 599', async () => {
    await withServer(
      serve((request, response) => response.writeHead(Number(request.url?.slice(1))).end()),
      async ({ url }) => {
        for (const status of [200, 204, 300, 304, 404, 429, 500, 599]) {
          assert.equal((await crawl.fetch(`${url}/${status}`)).status, status)
        }
      },
    )
  })

  test('sends the query as it was written, no fragment, and credentials as a header only', async () => {
    const seen: (string | undefined)[] = []
    await withServer(
      serve((request, response) => {
        seen.push(request.headers.authorization)
        response.end()
      }),
      async ({ url, host, asked }) => {
        await crawl.fetch(`${url}/a%2Fb?b=2&a=%7e&sig=x+y%20z#part`)
        await crawl.fetch(`${url}/empty?#x`)
        await crawl.fetch(`http://us%40er:p:w@${host}/secret`)
        await crawl.fetch(new Request(`http://user:pw@${host}/own`, { headers: { Authorization: 'Bearer t' } }))
        assert.deepEqual(asked, ['GET /a%2Fb?b=2&a=%7e&sig=x+y%20z', 'GET /empty?', 'GET /secret', 'GET /own'])
        assert.deepEqual(seen, [undefined, undefined, `Basic ${Buffer.from('us@er:p:w').toString('base64')}`, 'Bearer t'])
      },
    )
  })

  test('sends a body, as text or as bytes', async () => {
    await withServer(
      serve((request, response) => void request.pipe(response)),
      async ({ url }) => {
        for (const body of ['grüße', Buffer.from([0, 255, 7])]) {
          const page = (await crawl.fetch(new Request(url, { method: 'POST', body }))) as PageResponse
          assert.deepEqual(page.body, Buffer.from(body as string))
        }
      },
    )
  })

  test('refuses a header with a line break before anything is sent, and names it', async () => {
    await withServer(serve((_, response) => response.end()), async ({ url, asked }) => {
      const request = new Request(url, { headers: { 'x-evil': 'a\r\nHost: other' } })
      await assert.rejects(crawl.fetch(request), { code: 'request', reason: 'bad request', message: /x-evil/ })
      assert.deepEqual(asked, [])
    })
  })

  test('streams an image to a temporary file and hashes it, decoded', async () => {
    await withServer(
      serve((request, response) => {
        if (request.url === '/plain') response.end(picture)
        else response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(picture))
      }),
      async ({ url }) => {
        for (const path of ['/plain', '/gzip']) {
          const response = (await crawl.fetch(image(url + path))) as ImageResponse
          assert.equal(response.kind, 'image')
          assert.equal(response.size, picture.length)
          assert.equal(response.sha256, createHash('sha256').update(picture).digest('hex'))
          assert.deepEqual(await readFile(response.path), picture)
        }
        kept = await crawl.temporaryFiles()
        assert.equal(kept.length, 2)
      },
    )
  })

  test('answers an image request that was refused with the beginning of the body, without a file', async () => {
    await withServer(
      serve((request, response) => {
        const isLarge = request.url === '/large'
        response.writeHead(isLarge ? 500 : 404, { 'x-why': 'gone' }).end(isLarge ? picture : 'no such image')
      }),
      async ({ url }) => {
        const gone = (await crawl.fetch(image(`${url}/gone`))) as PageResponse
        assert.equal(gone.kind, 'page')
        assert.equal(gone.status, 404)
        assert.equal(gone.headers['x-why'], 'gone')
        assert.equal(gone.text, 'no such image')
        const large = (await crawl.fetch(image(`${url}/large`))) as PageResponse
        assert.equal(large.body.length, 64 * 1024)
        assert.equal((await crawl.fetch(`${url}/next`)).status, 404)
      },
    )
  })

  test('takes no part for a whole, unless it was asked for or is the whole', async () => {
    await withServer(
      serve((request, response) => {
        response.writeHead(206, { 'content-range': request.url === '/whole' ? 'bytes 0-4/5' : 'bytes 0-4/99' }).end('image')
      }),
      async ({ url }) => {
        await assert.rejects(crawl.fetch(image(url)), { reason: 'bad response', transient: true })
        const asked = (await crawl.fetch(new Request(url, { headers: { Range: 'bytes=0-4' } }))) as PageResponse
        assert.equal(asked.text, 'image')
        assert.equal(((await crawl.fetch(`${url}/whole`)) as PageResponse).text, 'image')
      },
    )
  })

  for (const kind of ['page', 'image'] as const) {
    test(`refuses a ${kind} above the cap: at once by Content-Length, else when it passes it`, async () => {
      await withServer(
        serve((request, response) => {
          if (request.url === '/announced') response.writeHead(200, { 'content-length': 2_000_000 }).write('x')
          else for (let piece = 0; piece < 20; piece++) response.write(Buffer.alloc(100_000))
        }),
        async ({ url }) => {
          for (const path of ['/announced', '/chunked']) {
            const refused = { reason: 'too large', transient: false, message: /1000000 bytes/ }
            await assert.rejects(crawl.fetch(new Request(url + path, { kind })), refused)
          }
        },
      )
    })

    test(`never takes a cut ${kind} for a whole one`, async () => {
      const answers: Record<string, string> = {
        length: 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this',
        chunks: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
      }
      await withServer(
        serveRaw((socket, head) => socket.end(answers[head.split(/[/ ]/)[2] ?? ''] ?? '')),
        async ({ url }) => {
          for (const path of Object.keys(answers)) {
            const cut = { code: 'download', reason: 'reset', transient: true }
            await assert.rejects(crawl.fetch(new Request(`${url}/${path}`, { kind })), cut)
          }
        },
      )
    })
  }

  test('reads headers of 34 kB, and gives up a head that is larger than 64 kB', async () => {
    const filled = (bytes: number): string => `HTTP/1.1 200 OK\r\nX-Large: ${'x'.repeat(bytes)}\r\nContent-Length: 0\r\n\r\n`
    await withServer(
      serveRaw((socket, head) => socket.write(filled(head.includes('/34k') ? 34_000 : 2_000_000))),
      async ({ url }) => {
        assert.equal((await crawl.fetch(`${url}/34k`)).headers['x-large']?.length, 34_000)
        await assert.rejects(crawl.fetch(`${url}/2m`), { reason: 'bad response', transient: false })
      },
    )
  })

  test('says so when what answers is no HTTP, or no TLS', async () => {
    await withServer(serveRaw((socket) => socket.end('ICY 200 OK\r\n\r\n')), async ({ url }) => {
      await assert.rejects(crawl.fetch(url), { reason: 'bad response', transient: false })
    })
    await withServer(serve((_, response) => response.end()), async ({ url }) => {
      await assert.rejects(crawl.fetch(url.replace('http:', 'https:')), { reason: 'tls', transient: false })
    })
  })

  test('names the URL without its credentials when the connection is refused', async () => {
    const server = await serve((_, response) => response.end())
    await server.close()
    const request = crawl.fetch(`http://user:secret@${server.host}/x`)
    await assert.rejects(request, (error: Error & { reason: string; transient: boolean }) => {
      assert.equal(error.reason, 'refused')
      assert.equal(error.transient, true)
      assert.match(error.message, new RegExp(`http://${server.host}/x`))
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
  })

  test('sends a GET once more when a kept connection was closed under it, and a POST never', async () => {
    const closing = serveRaw((socket) => {
      if (socket.bytesWritten > 0) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
    await withServer(closing, async ({ url }) => {
      for (let count = 0; count < 20; count++) {
        const pages = await Promise.all([crawl.fetch(url), crawl.fetch(url), crawl.fetch(url)])
        assert.deepEqual(pages.map(({ status }) => status), [200, 200, 200])
      }
    })
    await withServer(serveRaw((socket) => socket.resetAndDestroy()), async ({ url, asked }) => {
      await assert.rejects(crawl.fetch(new Request(url, { method: 'POST', body: 'x' })), { reason: 'reset', transient: true })
      assert.equal(asked.length, 1)
      await assert.rejects(crawl.fetch(url), { reason: 'reset', transient: true })
      assert.equal(asked.length, 3)
    })
  })

  test('reads nothing after the head of an answer to HEAD', async () => {
    await withServer(
      serve((_, response) => response.writeHead(200, { 'content-length': 9_000_000, 'content-encoding': 'gzip' }).end()),
      async ({ url }) => {
        const page = (await crawl.fetch(new Request(url, { method: 'HEAD' }))) as PageResponse
        assert.equal(page.body.length, 0)
      },
    )
  })
})
