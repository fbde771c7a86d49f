import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import sharp from 'sharp'
import { listen } from '../../framework/demo/listen.ts'
import { type DemoSite, startSite } from '../../framework/demo/site.ts'
import { crawlSite } from './crawl.ts'

describe('demo site', () => {
  let site: DemoSite
  before(async () => void (site = await startSite({ port: 0 })))
  after(() => site.close())

  const urlOf = (host: number, path: string): string => `${site.hosts[host]}${path}`
  const fetchImage = async (url: string) => {
    const response = await fetch(url)
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) }
  }

  test('a crawl that obeys finds exactly what the site expects', async () => {
    const { expected } = site
    const found = await crawlSite(site.url, site.hosts)
    assert.deepEqual([...found.pages].sort(), [...expected.pages].sort())
    assert.deepEqual(
      Object.fromEntries(found.failedPages),
      Object.fromEntries(expected.failedPages.map(({ url, reason }) => [url, reason])),
    )
    assert.deepEqual([...found.images.keys()].sort(), expected.images.map(({ url }) => url).sort())
    for (const { url, alt } of expected.images) assert.deepEqual([...found.images.get(url)!], [alt], url)
    for (const url of expected.offsite) assert.ok(found.spellings.has(url), url)
    const requests = site.requests()
    for (const url of expected.requestedOnce) assert.ok(found.spellings.get(url)!.size > 1, `${url} has but one spelling`)
    for (const url of expected.pages) assert.ok(requests[`GET ${url}`]! >= 1, url)
    for (const url of expected.neverRequested) assert.equal(requests[`GET ${url}`], undefined, url)
  })

  test('is large enough to be worth a crawl, and its totals add up', () => {
    const { pages, images, groups, totals } = site.expected
    assert.ok(pages.length >= 60 && images.length >= 300)
    assert.equal(new Set(pages).size, pages.length)
    assert.equal(new Set(images.map(({ url }) => url)).size, images.length)
    const wanted = images.filter(({ optional }) => !optional)
    assert.equal(Object.values(totals).reduce((sum, count) => sum + count), wanted.length)
    const single = wanted.filter(({ group, statuses }) => group === undefined && statuses[0] === 'downloaded')
    assert.equal(totals.downloaded, groups.length + single.length)
    assert.deepEqual(groups.find(({ id }) => id === 'lakes-01')!.originals, [urlOf(1, '/wallpapers/lakes-01.jpg')])
    const exact = groups.filter(({ reason }) => reason === 'exact duplicate').map(({ id }) => id)
    assert.deepEqual(exact.sort(), ['coast-12', 'forest-05', 'night-12'])
  })

  test('each URL answers as its status says', async () => {
    for (const { url, statuses, reason, optional } of site.expected.images) {
      if (reason === 'redirect loop' || reason === 'too many redirects' || reason === 'robots' || optional) continue
      if (!url.includes('/workshop/') && reason !== 'http 404' && reason !== 'too small') continue
      const { status, bytes } = await fetchImage(url)
      if (reason === 'http 404') assert.equal(status, 404, url)
      else if (reason === 'empty') assert.equal(bytes.length, 0, url)
      else if (reason === 'not an image') await assert.rejects(sharp(bytes).metadata(), /unsupported image format/)
      else if (reason === 'truncated') await assert.rejects(sharp(bytes, { failOn: 'truncated' }).stats(), /premature end/i)
      else if (reason === 'too small') assert.ok((await sharp(bytes).metadata()).width < 100, url)
      else assert.deepEqual(statuses, ['downloaded'], url)
    }
  })

  test('exact copies have the same bytes, other copies have not', async () => {
    const exact = site.expected.groups.filter(({ reason }) => reason === 'exact duplicate')
    const near = site.expected.groups.filter(({ reason }) => reason === 'near duplicate')
    for (const { reason, members } of [...exact, ...near.slice(0, 3)]) {
      const [first, ...others] = await Promise.all(members.map(async (url) => (await fetchImage(url)).bytes))
      for (const other of others) assert.equal(first!.equals(other), reason === 'exact duplicate')
    }
  })

  test('the busy host refuses the first requests and says for how long', async () => {
    const answers: number[] = []
    for (let time = 0; time < 5; time++) {
      const response = await fetch(urlOf(3, '/rush/city.jpg'))
      answers.push(response.status)
      if (response.status === 429) assert.equal(response.headers.get('retry-after'), '1')
      await response.arrayBuffer()
    }
    assert.deepEqual(answers, [429, 429, 429, 429, 200])
  })

  test('an image that failed comes at the second try', async () => {
    const fresh = await startSite({ port: 0 })
    try {
      const url = `${fresh.hosts[1]}/workshop/second-try.jpg`
      assert.deepEqual([(await fetchImage(url)).status, (await fetchImage(url)).status], [500, 200])
      assert.equal(fresh.requests()[`GET ${url}`], 2)
    } finally {
      await fresh.close()
    }
  })

  test('compresses pages only for those who can read it', async () => {
    const encodingOf = async (path: string, accept: string) => {
      const response = await fetch(urlOf(0, path), { headers: { 'accept-encoding': accept } })
      assert.match(await response.text(), /<\/html>\n$/)
      return response.headers.get('content-encoding')
    }
    assert.equal(await encodingOf('/', 'gzip, br'), 'gzip')
    assert.equal(await encodingOf('/about/', 'gzip, br'), 'br')
    assert.equal(await encodingOf('/about/', 'identity'), null)
  })

  test('another seed gives another order of the same pictures', async () => {
    const other = await startSite({ port: 0, seed: 2 })
    try {
      const [one, two] = await Promise.all([site, other].map(async ({ url }) => (await fetch(url)).text()))
      const slugs = (html: string) => [...html.matchAll(/class="album" href="([^"]+)"/g)].map((match) => match[1])
      assert.notDeepEqual(slugs(one!), slugs(two!))
      assert.deepEqual(slugs(one!).sort(), slugs(two!).sort())
      const path = '/photos/city-01.jpg'
      assert.ok((await fetchImage(`${site.hosts[1]}${path}`)).bytes.equals((await fetchImage(`${other.hosts[1]}${path}`)).bytes))
      assert.deepEqual(other.expected.totals, site.expected.totals)
    } finally {
      await other.close()
    }
  })

  test('a taken port is named, with what to do', async () => {
    const taken = createServer()
    await once(taken.listen(0, '127.0.0.1'), 'listening')
    const { port } = taken.address() as AddressInfo
    try {
      await assert.rejects(startSite({ port }), new RegExp(`127.0.0.1:${port}.*--port`))
    } finally {
      taken.close()
    }
  })

  test('where a system has no other loopback address, a host goes to another port of the first', async () => {
    const server = createServer()
    const unassigned = '192.0.2.1'
    const origin = await listen(server, [{ address: unassigned, port: 0 }, { address: '127.0.0.1', port: 0 }])
    server.close()
    assert.match(origin, /^http:\/\/127\.0\.0\.1:\d+$/)
  })

  test('closes when its signal aborts', async () => {
    const controller = new AbortController()
    const brief = await startSite({ port: 0, signal: controller.signal })
    await (await fetch(brief.url)).text()
    controller.abort()
    await brief.close()
    await assert.rejects(fetch(brief.url), /fetch failed/)
  })
})
