import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DownloaderMiddleware } from '../../framework/crawl.ts'
import { Request } from '../../framework/http/request.ts'
import { schema } from '../../framework/settings/schema.ts'
import { Slots } from '../../framework/slots/slots.ts'
import { serve } from '../downloader/server.ts'
import { openCrawl } from '../middlewares/crawl.ts'

const open = (slot = {}) => new Slots(schema.parse({ slot: { by: 'domain', delayMs: 60_000, jitter: 0, ...slot } }))

describe('slots by domain', () => {
  test('hosts and ports of a registrable domain share its slot; what has none stays as it is', () => {
    const slots = open()
    const names: Record<string, string> = {
      'example.com': 'example.com',
      'WWW.Example.com': 'example.com',
      'a.b.example.com:8080': 'example.com',
      'a.example.com.': 'example.com',
      'www.example.co.uk': 'example.co.uk',
      'co.uk': 'co.uk',
      'one.github.io': 'one.github.io',
      'www.two.github.io': 'two.github.io',
      'xn--bcher-kva.example.de': 'example.de',
      'img.site.unknown-tld': 'site.unknown-tld',
      'a.b.example:80': 'b.example',
      'a.b.test': 'b.test',
      'a.site.localhost:80': 'site.localhost',
      'localhost:8080': 'localhost:8080',
      localhost: 'localhost',
      intranet: 'intranet',
      'intranet:81': 'intranet:81',
      '127.0.0.1:8080': '127.0.0.1:8080',
      '192.0.2.7': '192.0.2.7',
      '[::1]:8080': '[::1]:8080',
      'My own': 'my own',
      'https://a.example.com/x': 'https://a.example.com/x',
      '': '',
    }
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(Object.fromEntries(Object.keys(names).map((slot) => [slot, slots.nameOf(slot)])), names)
    }
    const long = `${'a'.repeat(300)}.example.com`
    assert.equal(slots.nameOf(long), long)
  })

  test('every method finds the slot that is shared', async () => {
    const slots = open({ delayMs: 0, concurrency: 1 })
    const changed = new Set<string>()
    slots.onChange((slot) => changed.add(slot))
    const visit = slots.tryEnter('a.example.com')
    assert.equal(visit?.slot, 'example.com')
    assert.equal(slots.readyAt('b.example.com:81'), Infinity)
    const waiting = slots.enter('c.example.com', new AbortController().signal)
    visit.end()
    ;(await waiting).cancel()
    slots.setLeastDelay('a.example.com', 1_000)
    slots.setDelay('b.example.com', 2_000)
    assert.deepEqual([slots.leastDelayOf('x.example.com'), slots.delayOf('y.example.com')], [1_000, 2_000])
    const until = Date.now() + 60_000
    slots.pauseUntil('z.example.com', until)
    assert.equal(slots.readyAt('example.com'), until)
    assert.deepEqual(slots.states().map(({ slot }) => slot), ['example.com'])
    assert.deepEqual([...changed], ['example.com'])
  })

  test('a request that came with a place uses it at another host of the domain, and waits there for its next', async () => {
    const server = await serve((_, response) => response.end())
    const states: (number | undefined)[] = []
    const elsewhere: DownloaderMiddleware = ({ slots }) => async (request, next) => {
      const response = await next(request.with({ slot: 'cdn.example.com:81' }))
      states.push(slots.states().length, slots.states()[0]?.active)
      return request.url.endsWith('/two') ? next(request.with({ slot: 'img.example.com' })) : response
    }
    const crawl = await openCrawl({ middlewares: [elsewhere], settings: { slot: { by: 'domain', delayMs: 60, concurrency: 1 } } })
    try {
      await crawl.fetch(new Request(`${server.url}/one`, { slot: 'www.example.com' }))
      await crawl.fetch(new Request(`${server.url}/two`, { slot: 'www.example.com' }))
      assert.deepEqual(server.asked, ['GET /one', 'GET /two', 'GET /two'])
      assert.deepEqual(states, [1, 0, 1, 0])
      assert.ok(crawl.slots.readyAt('example.com') > Date.now(), 'the second hop began the delay anew')
    } finally {
      await crawl.close()
      await server.close()
    }
  })

  test('requests that fill a domain’s slot give their places to the one that they wait for, whatever its host', async () => {
    const server = await serve((_, response) => response.end())
    let shared: Promise<unknown> | undefined
    const waitForOne: DownloaderMiddleware = () => async (request, next) => {
      const ask = (path: string) => next(new Request(server.url + path, { slot: `${path.slice(1)}.example.com` }))
      shared ??= ask('/shared').then(() => ask('/moved'))
      await shared
      return next(request)
    }
    const settings = { slot: { by: 'domain', delayMs: 3 }, hosts: { 'example.com': { concurrency: 1 } } } as const
    const crawl = await openCrawl({ middlewares: [waitForOne], settings })
    try {
      const hosts = Array.from({ length: 8 }, (_, index) => `host${index}.example.com`)
      await Promise.all(hosts.map((slot) => crawl.fetch(new Request(`${server.url}/${slot}`, { slot }))))
      assert.deepEqual(server.asked.slice(0, 2), ['GET /shared', 'GET /moved'])
      assert.equal(server.asked.length, 10)
    } finally {
      await crawl.close()
      await server.close()
    }
  })
})
