import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Request, Spider, type PageResponse, type Results } from 'orbweaver'
import { inspectFrontier } from '../../framework/frontier/inspect.ts'
import project from '../../settings.ts'
import { serve } from '../downloader/server.ts'
import { withSite } from './crawl-site.ts'

class Follow extends Spider {
  override readonly startUrls = [this.args['site'] ?? '']
  override async *parse(page: PageResponse): Results {
    for (const url of page.links()) yield page.follow(url)
  }
}

const links = (...paths: string[]): string => paths.map((path) => `<a href="${path}">x</a>`).join('')
const pagesOf = (asked: readonly string[]): string[] => asked.filter((line) => line !== 'GET /robots.txt').map((line) => line.slice('GET '.length))

describe('what a run has met', () => {
  test('a duplicate is counted each time, and logged once', () =>
    withSite({ '/': links('/a', '/b'), '/a': links('/', '/b'), '/b': links('/', '/a') }, async ({ crawl, log }) => {
      const { stats } = await crawl(Follow, { settings: { concurrency: 1, log: { level: 'debug' } } })
      assert.equal(stats['requests/duplicate'], 4)
      assert.equal(log.filter((line) => line.includes('met before')).length, 1)
    }))

  test('a project can say what the same page is', () =>
    withSite({ '/': links('/product-1-red', '/product-1-blue', '/product-2', '/about'), '/product-1-red': '', '/product-2': '', '/about': '' }, async ({ crawl, server }) => {
      const requestFingerprint = ({ url }: Request) => /product-(\d+)/.exec(url)?.[1]
      const { distinct } = await crawl(Follow, { project: { ...project, requestFingerprint }, settings: { concurrency: 1 } })
      assert.deepEqual(pagesOf(server.asked), ['/', '/product-1-red', '/product-2', '/about'])
      assert.deepEqual(distinct, { count: 4, error: 0 })
    }))

  test('a fingerprint that can’t be made fails the page that yielded the request, and names it', () =>
    withSite({ '/': links('/good', '/bad'), '/good': '' }, async ({ crawl, log, server }) => {
      const requestFingerprint = ({ url }: Request) => {
        if (url.endsWith('/bad')) throw new Error('no number')
        return undefined
      }
      const { outcomes } = await crawl(Follow, { project: { ...project, requestFingerprint } })
      assert.deepEqual(outcomes.map(({ state, reason }) => [state, reason]).sort(), [['done', ''], ['failed', 'fingerprint']])
      assert.ok(log.some((line) => line.includes('requestFingerprint') && line.includes('/bad') && line.includes('no number')))
      assert.deepEqual(pagesOf(server.asked), ['/', '/good'])
    }))

  test('a setting that makes other fingerprints is said when the run goes on', () =>
    withSite({ '/': links('/a'), '/a': '' }, async ({ crawl, log }) => {
      await crawl(Follow, { settings: { concurrency: 1, limits: { pages: 1 } } })
      await crawl(Follow, { settings: { urls: { ignoreParameters: ['sid'] } } })
      assert.ok(log.some((line) => line.startsWith('warn urls.ignoreParameters was [] until now, and is ["sid"]')))
    }))
})

test('what a callback had yielded before its time was over is kept', () =>
  withSite({ '/': '', '/a': '', '/b': '' }, async ({ crawl, server }) => {
    class Slow extends Follow {
      override async *parse(page: PageResponse): Results {
        if (!page.url.endsWith('/')) return
        yield page.follow('/a')
        yield page.follow('/b')
        await new Promise<never>(() => {})
      }
    }
    const { outcomes } = await crawl(Slow, { settings: { pages: { callbackMs: 200 } } })
    assert.deepEqual(pagesOf(server.asked).sort(), ['/', '/a', '/b'])
    assert.ok(outcomes.some(({ state, reason }) => state === 'failed' && reason === 'callback timeout'))
  }))

test('other arguments are said when the run goes on, without their values, and what shows them hides passwords', () =>
  withSite({ '/': links('/a'), '/a': '' }, async ({ crawl, log, server, dataDir }) => {
    await crawl(Follow, { args: { site: server.url, password: 'hunter1' }, settings: { concurrency: 1, limits: { pages: 1 } } })
    assert.deepEqual(inspectFrontier(join(dataDir, 'frontier', 'site.db'))?.args, { site: server.url, password: '***' })
    await crawl(Follow, { args: { site: server.url, password: 'hunter2' } })
    assert.ok(log.some((line) => line.startsWith('warn the arguments (-a) are others than until now')))
    assert.ok(log.every((line) => !line.includes('hunter')))
  }))

describe('the order of a crawl', () => {
  const tree = { '/': links('/1', '/2'), '/1': links('/1/1', '/1/2'), '/2': links('/2/1'), '/1/1': '', '/1/2': '', '/2/1': '' }

  test('breadth first is the order of finding', () =>
    withSite(tree, async ({ crawl, server }) => {
      await crawl(Follow, { settings: { concurrency: 1 } })
      assert.deepEqual(pagesOf(server.asked), ['/', '/1', '/2', '/1/1', '/1/2', '/2/1'])
    }))

  test('depth first follows what was found last', () =>
    withSite(tree, async ({ crawl, server }) => {
      await crawl(Follow, { settings: { concurrency: 1, queue: { order: 'depth' } } })
      assert.deepEqual(pagesOf(server.asked), ['/', '/2', '/2/1', '/1', '/1/2', '/1/1'])
    }))

  test('patterns of URLs raise and lower priorities', () => {
    const paths = ['/archive/1', '/item/1', '/list/1', '/archive/2', '/item/2', '/list/2?page=2']
    return withSite({ '/': links(...paths), ...Object.fromEntries(paths.map((path) => [path, ''])) }, async ({ crawl, server }) => {
      const priorities = [{ url: '/list/*', priority: 5 }, { url: '*/archive/*', priority: -5 }]
      await crawl(Follow, { settings: { concurrency: 1, queue: { priorities } } })
      assert.deepEqual(pagesOf(server.asked), ['/', '/list/1', '/list/2?page=2', '/item/1', '/item/2', '/archive/1', '/archive/2'])
    })
  })
})

describe('start requests', () => {
  test('are taken as they are needed, and the run goes on from where it had come', () =>
    withSite(() => '', async ({ crawl, server, dataDir }) => {
      let taken = 0
      class Seeds extends Spider {
        override readonly allowedDomains = ['*']
        override async *start() {
          for (let n = 0; n < 2_000; n++) {
            taken = n + 1
            yield new Request(`${this.args['site']}/${n}`, { dontFilter: n % 2 === 0 })
          }
        }
        override async *parse(): Results {}
      }
      const first = await crawl(Seeds, { settings: { limits: { pages: 50 } } })
      assert.equal(first.reason, 'limit')
      assert.ok(taken < 1_500, `${taken} start requests were taken for 50 pages`)
      const job = inspectFrontier(join(dataDir, 'frontier', 'site.db'))
      assert.equal(job?.ending, 'limit')
      const rest = await crawl(Seeds)
      assert.equal(rest.reason, 'finished')
      const pages = pagesOf(server.asked)
      assert.equal(pages.length, 2_000)
      assert.equal(new Set(pages).size, 2_000)
    }))

  test('that were not reached before a stop are taken by the next run', () =>
    withSite({}, async ({ crawl }) => {
      const stopping = new AbortController()
      let giveOn = () => {}
      let answer = () => {}
      const server = await serve(({ url }, response) => {
        const end = () => response.writeHead(url === '/robots.txt' ? 404 : 200, { 'content-type': 'text/html' }).end()
        if (url === '/1' && !stopping.signal.aborted) answer = end
        else end()
      })
      class Seeds extends Spider {
        override readonly allowedDomains = ['*']
        override async *start() {
          for (let n = 0; n < 20; n++) {
            if (n === 2 && !stopping.signal.aborted) await new Promise<void>((resolve) => (giveOn = resolve))
            yield new Request(`${server.url}/${n}`)
          }
        }
        override async *parse(): Results {}
      }
      // start() gives its next request after the stop, while a page is still in progress.
      const stop = ({ url }: { url: string }) => {
        if (!url.endsWith('/0')) return
        stopping.abort()
        giveOn()
        setImmediate(() => answer())
      }
      const first = await crawl(Seeds, { stopping: stopping.signal, onOpen: ({ signals }) => void signals.on('response_received', stop) })
      assert.equal(first.reason, 'stopped')
      const rest = await crawl(Seeds)
      assert.deepEqual([rest.resumed, rest.reason], [true, 'finished'])
      assert.equal(new Set(pagesOf(server.asked)).size, 20)
      await server.close()
    }))

  test('of a list that has changed since, none is lost', () =>
    withSite(() => '', async ({ crawl, server }) => {
      let names = ['a', 'b', 'c']
      class Seeds extends Spider {
        override readonly allowedDomains = ['*']
        override async *start() {
          for (const name of names) yield new Request(`${this.args['site']}/${name}`)
          if (names.length === 3) await new Promise<never>(() => {})
        }
        override async *parse(): Results {}
      }
      await crawl(Seeds, { settings: { limits: { pages: 3 } } })
      names = ['new', 'a', 'b', 'c']
      await crawl(Seeds)
      assert.deepEqual(pagesOf(server.asked).sort(), ['/a', '/b', '/c', '/new'])
    }))
})

describe('a crawl ends by its limits', () => {
  test('of errors', () =>
    withSite((url) => (url === '/' ? links(...Array.from({ length: 50 }, (_, n) => `/${n}`)) : url === '/robots.txt' ? 404 : 500), async ({ crawl }) => {
      const { reason, limit, left } = await crawl(Follow, { settings: { concurrency: 2, retry: { attempts: 0 }, autothrottle: { enabled: false }, limits: { errors: 5 } } })
      assert.deepEqual([reason, limit], ['limit', 'limits.errors'])
      assert.ok(left.pending > 40 && left.failed >= 5)
    }))

  test('of bytes', () =>
    withSite((url) => (url === '/' ? links(...Array.from({ length: 50 }, (_, n) => `/${n}`)) : 'x'.repeat(10_000)), async ({ crawl }) => {
      const { reason, limit, left } = await crawl(Follow, { settings: { concurrency: 1, limits: { bytes: '50kB' } } })
      assert.deepEqual([reason, limit], ['limit', 'limits.bytes'])
      assert.ok(left.pending > 40)
    }))
})

test('a burst of broken connections ends each request, and gives every place back', () =>
  withSite({}, async ({ crawl, log }) => {
    const server = await serve(({ url = '', socket }, response) => {
      if (url.startsWith('/x')) socket.destroy()
      else response.writeHead(url === '/robots.txt' ? 404 : 200, { 'content-type': 'text/html' }).end('')
    })
    class Burst extends Spider {
      override readonly allowedDomains = ['*']
      override async *start() {
        for (let n = 0; n < 1_000; n++) yield new Request(`${this.args['site']}/${n % 5 === 0 ? 'y' : 'x'}${n}`)
      }
      override async *parse(): Results {}
    }
    let active = () => -1
    const settings = { slot: { delayMs: 0, concurrency: 32 }, retry: { attempts: 0 }, autothrottle: { enabled: false } }
    const { reason, outcomes, left } = await crawl(Burst, {
      settings,
      args: { site: server.url },
      onOpen: ({ slots }) => (active = () => slots().reduce((sum, slot) => sum + slot.active, 0)),
    })
    assert.equal(reason, 'finished')
    assert.equal(active(), 0)
    assert.deepEqual(left, { pending: 0, delayed: 0, leased: 0, failed: 800 })
    assert.deepEqual(outcomes.map(({ state, count }) => [state, count]).sort(), [['done', 200], ['failed', 800]])
    assert.ok(log.every((line) => !line.startsWith('error')))
    await server.close()
  }))
