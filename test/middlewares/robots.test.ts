import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { Request } from '../../framework/http/request.ts'
import { silentLog } from '../../framework/log.ts'
import type { SettingsInput } from '../../framework/settings/schema.ts'
import { redirect } from '../../middlewares/redirect.ts'
import { retry } from '../../middlewares/retry.ts'
import { robots } from '../../middlewares/robots.ts'
import { serve, type TestServer } from '../downloader/server.ts'
import { answer, openCrawl, type TestCrawl } from './crawl.ts'

type Handle = (request: IncomingMessage, response: ServerResponse) => void

describe('robots', () => {
  type Work = (crawl: TestCrawl, server: TestServer, warnings: string[]) => Promise<void>

  async function inCrawl(handle: Handle | string, work: Work, settings: SettingsInput = {}) {
    const warnings: string[] = []
    const server = await serve((request, response) => {
      if (typeof handle === 'function') handle(request, response)
      else response.end(request.url === '/robots.txt' ? handle : 'page')
    })
    const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) }
    const crawl = await openCrawl({ middlewares: [redirect, robots, retry], settings, log })
    try {
      await work(crawl, server, warnings)
      assert.deepEqual(crawl.slots.states().filter(({ active }) => active > 0), [])
    } finally {
      await crawl.close()
      await server.close()
    }
  }

  /** Which of these paths a robots.txt allows. */
  async function allowed(text: string, paths: readonly string[], userAgent = ''): Promise<string[]> {
    const found: string[] = []
    await inCrawl(
      text,
      async (crawl, { url }) => {
        for (const path of paths) {
          const result = await crawl.fetch(url + path).catch((error: { reason: string }) => error.reason)
          if (typeof result !== 'string') found.push(path)
          else assert.equal(result, 'robots')
        }
      },
      userAgent === '' ? {} : { userAgent },
    )
    return found
  }

  test('ignores what robots.txt disallows, pages and images, and fetches it once however many wait', async () => {
    await inCrawl('User-agent: *\nDisallow: /no\n', async (crawl, { url, asked }) => {
      const requests = [
        ...['/a', '/no/b'].map((path) => new Request(url + path)),
        ...['/c', '/no/d'].map((path) => new Request(url + path, { kind: 'image' })),
      ]
      const results = await Promise.allSettled(requests.map((request) => crawl.fetch(request)))
      assert.deepEqual(results.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled', 'rejected'])
      assert.equal((results[1] as PromiseRejectedResult).reason.code, 'ignore')
      assert.equal((results[1] as PromiseRejectedResult).reason.reason, 'robots')
      await crawl.fetch(`${url}/e`)
      assert.deepEqual(asked.sort(), ['GET /a', 'GET /c', 'GET /e', 'GET /robots.txt'])
    })
  })

  test('obeys the longest rule, wildcards and ends', async () => {
    const rules = ['Disallow: /p', 'Allow: /page', 'Disallow: /*.php$', 'Disallow: /x*y', 'Allow: /tie', 'Disallow: /tie', 'Disallow:']
    const text = `User-agent: *\n${rules.join('\n')}\n`
    const paths = ['/', '/p', '/page', '/a.php', '/a.php?b', '/xay', '/xa', '/tie', '/robots.txt']
    assert.deepEqual(await allowed(text, paths), ['/', '/page', '/a.php?b', '/xa', '/tie', '/robots.txt'])
  })

  test('obeys the groups of its own name, else those of *, and joins repeated ones', async () => {
    const first = 'User-agent: OtherBot\nSitemap: http://x/\nUser-Agent: ImgBot/2.0\nDisallow: /one\n'
    const text = `${first}\nUser-agent: *\nDisallow: /\n\nuser-agent: imgbot\nDisallow: /two`
    const paths = ['/one', '/two', '/three']
    assert.deepEqual(await allowed(text, paths, 'ImgBot/1.0 (+http://me.example)'), ['/three'])
    assert.deepEqual(await allowed(text, paths, 'Mozilla/5.0 (compatible; imgbot/1.0)'), ['/three'])
    assert.deepEqual(await allowed(text, paths), [])
    assert.deepEqual(await allowed('User-agent: Orbweaver\nDisallow: /one\n', paths), ['/two', '/three'])
  })

  test('reads files with a byte order mark, bare carriage returns, comments, misspellings and escapes', async () => {
    const text = '\ufeffUser-agent: *\rDisallow: /a # not this\r# nor that\rDissalow: /b\rdisallow /%7ec\r'
    assert.deepEqual(await allowed(text, ['/a', '/b', '/~c', '/d']), ['/d'])
  })

  test('is quick with rules that are made to be slow', async () => {
    const text = `User-agent: *\n${`Disallow: /${'*a'.repeat(100)}b\n`.repeat(2_000)}Disallow: /no\n`
    assert.deepEqual(await allowed(text, [`/${'a'.repeat(5_000)}`, '/no']), [])
  })

  test('takes a page of HTML for no rules, and says so', async () => {
    await inCrawl('\n<!doctype html><p>User-agent: *\nDisallow: /', async (crawl, { url }, warnings) => {
      assert.equal((await crawl.fetch(url)).status, 200)
      assert.match(warnings.join(), /looks like HTML/)
    })
  })

  test('allows everything where there is none, and tries again later where it can not be had', async () => {
    for (const status of [401, 403, 404, 410, 451]) {
      const handle: Handle = ({ url }, response) => {
        response.writeHead(url === '/robots.txt' ? status : 200).end('User-agent: *\nDisallow: /')
      }
      await inCrawl(handle, async (crawl, { url }) => {
        assert.equal((await crawl.fetch(url)).status, 200)
      })
    }
    for (const status of [429, 500, 501, 503]) {
      await inCrawl((_, response) => response.writeHead(status, { 'retry-after': '7' }).end(), async (crawl, { url, asked }) => {
        const afterMs = status === 501 ? undefined : 7_000
        const expected = { code: 'retry', reason: 'robots unreachable', counted: status === 500 || status === 501, afterMs }
        await assert.rejects(crawl.fetch(`${url}/a`), expected)
        await assert.rejects(crawl.fetch(`${url}/b`), expected)
        assert.deepEqual(asked, ['GET /robots.txt'])
      })
    }
    await inCrawl((_, response) => response.destroy(), async (crawl, { url }) => {
      await assert.rejects(crawl.fetch(url), { code: 'retry', reason: 'robots unreachable' })
    })
  })

  test('lets a failure that no other try can help through as it is', async () => {
    await inCrawl('', async (crawl, { url }) => {
      await assert.rejects(crawl.fetch(url.replace('http:', 'https:')), { code: 'download', reason: 'tls' })
    })
  })

  test('follows redirects of robots.txt, also to other hosts, and takes a loop for no rules', async () => {
    const other = await serve((_, response) => response.end('User-agent: *\nDisallow: /no'))
    try {
      const handle: Handle = ({ url }, response) => {
        if (url === '/robots.txt') response.writeHead(301, { location: '/r1' }).end()
        else if (url === '/r1') response.writeHead(302, { location: `${other.url}/rules` }).end()
        else response.end()
      }
      await inCrawl(handle, async (crawl, { url }) => {
        await assert.rejects(crawl.fetch(`${url}/no`), { reason: 'robots' })
        assert.equal((await crawl.fetch(`${url}/yes`)).status, 200)
      })
    } finally {
      await other.close()
    }
    const loop: Handle = ({ url }, response) => {
      response.writeHead(url === '/robots.txt' ? 302 : 200, { location: '/robots.txt' }).end()
    }
    await inCrawl(loop, async (crawl, { url, asked }) => {
      assert.equal((await crawl.fetch(`${url}/a`)).status, 200)
      assert.equal(asked.filter((line) => line === 'GET /robots.txt').length, 6)
    })
  })

  test('lets a full slot wait for one robots.txt that is redirected on the same host', async () => {
    const handle: Handle = ({ url }, response) => {
      if (url === '/robots.txt') response.writeHead(301, { location: '/moved.txt' }).end()
      else response.end('User-agent: *\nDisallow: /no')
    }
    await inCrawl(handle, async (crawl, { url }) => {
      const pages = await Promise.all(Array.from({ length: 8 }, (_, index) => crawl.fetch(`${url}/${index}`)))
      assert.equal(pages.length, 8)
    }, { slot: { concurrency: 2, delayMs: 2 } })
  })

  test('gives a Crawl-delay to the slot, cut where it is too long', async () => {
    for (const [text, delayMs, warns] of [
      ['User-agent: *\nCrawl-delay: 0.25', 250, false],
      ['User-agent: *\nDisallow: /no\nCrawl-delay: 86400\n', 2_000, true],
      ['User-agent: other\nCrawl-delay: 1\n\nUser-agent: *\nDisallow: /no', 20, false],
      ['User-agent: orbweaver\nDisallow: /no\nUser-agent: *\nCrawl-delay: 1', 20, false],
      ['User-agent: *\nCrawl-delay: -1', 20, false],
      ['User-agent: *\nCrawl-delay: inf', 20, false],
      ['User-agent: *\nCrawl-delay: 0.001', 20, false],
    ] as const) {
      await inCrawl(text, async (crawl, { url, host }, warnings) => {
        await crawl.fetch(`${url}/robots.txt`)
        await crawl.fetch(new Request(`${url}/no`)).catch(() => {})
        assert.equal(crawl.slots.delayOf(host), delayMs, text)
        assert.equal(warnings.length > 0, warns)
      }, { slot: { delayMs: 20 }, robots: { maxCrawlDelayMs: 2_000 } })
    }
  })

  type Visits = (get: (url: string) => Promise<void>, crawl: TestCrawl, asked: string[]) => Promise<void>

  /** A crawl without a network, where these origins have such a robots.txt and others none. */
  async function withFiles(files: Record<string, string>, settings: SettingsInput, work: Visits) {
    const crawl = await openCrawl({ settings })
    const handler = await robots(crawl.crawl)
    const asked: string[] = []
    const get = async (url: string): Promise<void> => {
      const request = new Request(url)
      await handler(request, async (hop) => {
        const file = files[new URL(hop.url).origin]
        if (!hop.url.endsWith('/robots.txt')) return answer(hop)
        asked.push(hop.url)
        return file === undefined ? answer(hop, { status: 404 }) : answer(hop, { body: `User-agent: *\n${file}` })
      })
    }
    try {
      await work(get, crawl, asked)
    } finally {
      await crawl.close()
    }
  }

  test('says a Crawl-delay again for a slot that was forgotten meanwhile, though the file is known', async (t) => {
    await withFiles({ 'http://slow.example': 'Crawl-delay: 7' }, {}, async (get, { slots }, asked) => {
      await get('http://slow.example/1')
      assert.deepEqual([slots.leastDelayOf('slow.example'), slots.delayOf('slow.example')], [7_000, 7_000])
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 2 * 3_600_000 })
      for (let n = 0; n < 10_000; n++) slots.tryEnter(`host${n}`)?.cancel()
      assert.equal(slots.delayOf('slow.example'), 0, 'forgotten')
      await get('http://slow.example/2')
      assert.equal(slots.delayOf('slow.example'), 7_000)
      assert.equal(asked.length, 1)
    })
  })

  test('takes back a Crawl-delay that an earlier process was asked for, and what was learned stays', async () => {
    const memory = { leastDelayMs: 9_000, pausedUntil: 0, reason: 'crawl-delay' }
    const files = { 'http://now.example': 'Crawl-delay: 2', 'http://none.example': 'Disallow: /x' }
    await withFiles(files, {}, async (get, { slots }) => {
      const hosts = ['now.example', 'none.example', 'no-file.example']
      slots.restore(hosts.map((slot) => ({ ...memory, slot, delayMs: slot === 'none.example' ? 4_000 : 0 })))
      assert.deepEqual(hosts.map((host) => slots.delayOf(host)), [9_000, 9_000, 9_000])
      for (const host of hosts) await get(`http://${host}/`)
      assert.deepEqual(hosts.map((host) => slots.leastDelayOf(host)), [2_000, 0, 0])
      assert.deepEqual(hosts.map((host) => slots.delayOf(host)), [2_000, 4_000, 0])
    })
  })

  test('the longest Crawl-delay counts where origins share a slot, whichever is asked last', async () => {
    const files = {
      'http://a.example.com': 'Crawl-delay: 3',
      'https://a.example.com': 'Crawl-delay: 1',
      'http://b.example.com': 'Disallow: /x',
    }
    for (const by of ['host', 'domain'] as const) {
      await withFiles(files, { slot: { by } }, async (get, { slots }) => {
        const changes: string[] = []
        await get('https://a.example.com/')
        assert.equal(slots.delayOf('a.example.com'), 1_000)
        await get('http://a.example.com/')
        slots.onChange((slot) => changes.push(slot))
        for (const url of ['https://a.example.com/', 'http://b.example.com/', 'http://a.example.com/2']) {
          await get(url)
          assert.equal(slots.delayOf('a.example.com'), 3_000)
        }
        assert.deepEqual(changes, [], 'nothing changes while they take turns')
        assert.equal(slots.delayOf('b.example.com'), by === 'host' ? 0 : 3_000)
      })
    }
  })

  test('knows the files of many hosts that take turns', async () => {
    await withFiles({}, {}, async (get, _, asked) => {
      for (let round = 0; round < 2; round++) {
        for (let host = 0; host < 12_000; host++) await get(`http://host${host}.example/`)
      }
      assert.equal(asked.length, 12_000)
    })
  })

  test('asks for the file of every scheme and port by itself, and for none when it need not obey', async () => {
    const crawl = await openCrawl({ settings: { robots: { obey: true } } })
    const handler = await robots(crawl.crawl)
    const asked: string[] = []
    const next = async (request: Request) => {
      asked.push(`${request.slot} ${request.url}`)
      return answer(request)
    }
    try {
      const urls = ['http://a.example/1', 'https://a.example/2', 'http://u:p@a.example:8080/3']
      for (const url of urls) await handler(new Request(url), next)
      await handler(new Request('http://b.example/4', { slot: 'own' }), next)
      assert.deepEqual(asked.filter((line) => line.endsWith('robots.txt')), [
        'a.example http://a.example/robots.txt',
        'a.example https://a.example/robots.txt',
        'a.example:8080 http://a.example:8080/robots.txt',
        'own http://b.example/robots.txt',
      ])
    } finally {
      await crawl.close()
    }
    await inCrawl('User-agent: *\nDisallow: /', async (crawl, { url, asked }) => {
      await crawl.fetch(url)
      assert.deepEqual(asked, ['GET /'])
    }, { robots: { obey: false } })
  })

  test('fetches it again when it has become old', async () => {
    let text = 'User-agent: *\nDisallow: /a'
    await inCrawl((request, response) => response.end(request.url === '/robots.txt' ? text : ''), async (crawl, { url }) => {
      await assert.rejects(crawl.fetch(`${url}/a`), { reason: 'robots' })
      text = ''
      for (let tries = 0; ; tries++) {
        const page = await crawl.fetch(`${url}/a`).catch(() => undefined)
        if (page !== undefined) break
        assert.ok(tries < 10_000)
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    }, { robots: { ttlMs: 5 } })
  })

  test('passes the end of the crawl through to everybody who waits', async () => {
    await inCrawl(() => {}, async (crawl, { url }) => {
      const reason = new Error('stop')
      const ends = ['/a', '/b'].map((path) => assert.rejects(crawl.fetch(url + path), (error) => error === reason))
      crawl.abort(reason)
      await Promise.all(ends)
    })
  })
})
