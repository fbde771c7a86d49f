import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'libsql'
import { isCrawlError, Request, SettingsError, Spider, StorageError, type DownloaderMiddleware, type PageResponse, type Results } from 'orbweaver'
import project from '../../settings.ts'
import { readRows } from '../e2e/harvest.ts'
import { picture, withSite } from './crawl-site.ts'

class Follow extends Spider {
  override readonly startUrls = [this.args['site'] ?? '']
  override async *parse(page: PageResponse): Results {
    yield* page.images()
    for (const url of page.links()) yield page.follow(url)
  }
}

const never = <T>() => new Promise<T>(() => {})
const withFirst = (middleware: DownloaderMiddleware) => ({ ...project, downloaderMiddlewares: [middleware, ...project.downloaderMiddlewares] })

describe('a crawl that does not end by itself', () => {
  test('a callback that outlives its time fails its page, and what it does later touches nothing', () =>
    withSite({ '/': '' }, async ({ crawl }) => {
      let goOn = (): void => {}
      let finished: Promise<void> = Promise.resolve()
      class Late extends Follow {
        override async *parse(page: PageResponse): Results {
          yield page.follow('/a')
          let end = (): void => {}
          finished = new Promise((resolve) => (end = resolve))
          try {
            await new Promise<void>((resolve) => (goOn = resolve))
            yield page.follow('/b')
          } finally {
            end()
          }
        }
      }
      const summary = await crawl(Late, { settings: { pages: { callbackMs: 50 } } })
      assert.ok(summary.outcomes.some(({ reason }) => reason === 'callback timeout'))
      goOn()
      await finished
    }))

  test('a callback that yields for ever what is known already is stopped by its time limit', () =>
    withSite((url) => (url.startsWith('/') ? '' : 404), async ({ crawl }) => {
      class Endless extends Follow {
        override async *parse(page: PageResponse): Results {
          for (let n = 0; ; n++) yield page.follow(`/?n=${n % 12}`)
        }
      }
      const summary = await crawl(Endless, { settings: { pages: { callbackMs: 50, maxDepth: 1 } } })
      assert.ok(summary.outcomes.some(({ reason }) => reason === 'callback timeout'))
    }))

  test('a start() that never ends, or waits for what never comes, is left when the crawl is stopped', () =>
    withSite({ '/': '' }, async ({ crawl }) => {
      class Repeating extends Follow {
        override async *start() {
          for (;;) yield new Request(this.args['site'] ?? '')
        }
      }
      class Waiting extends Follow {
        override async *start() {
          yield new Request(this.args['site'] ?? '')
          yield await never<Request>()
        }
      }
      for (const spider of [Repeating, Waiting]) {
        const stopping = new AbortController()
        const summary = await crawl(spider, { fresh: true, stopping: stopping.signal, onOpen: ({ signals }) => void signals.on('response_received', () => stopping.abort()) })
        assert.equal(summary.reason, 'stopped')
      }
    }))

  test('a part that never settles is waited for no longer than the crawl', () =>
    withSite({ '/': '' }, async ({ crawl }) => {
      const aborting = new AbortController()
      const stuck = withFirst(() => async function stuck() {
        aborting.abort()
        return never()
      })
      const summary = await crawl(Follow, { project: stuck, aborting: aborting.signal })
      assert.equal(summary.reason, 'stopped')
      assert.equal(summary.left.pending, 1)
    }))

  test('a store that is gone ends it while start requests wait for room', () =>
    withSite(() => '', async ({ crawl, server }) => {
      class Many extends Follow {
        override readonly startUrls = Array.from({ length: 3_000 }, (_, n) => `${this.args['site']}/${n}`)
      }
      const gone = withFirst(() => async function gone() {
        throw new StorageError('the database is gone')
      })
      await assert.rejects(crawl(Many, { project: gone }), /the database is gone/)
      assert.deepEqual(server.asked, [])
    }))

  test('a host that answers 429 for ever is given up in the end', () =>
    withSite({ '/': 429 }, async ({ crawl, server }) => {
      const summary = await crawl(Follow, { settings: { retry: { backoffMs: 0, maxBackoffMs: 0 }, autothrottle: { enabled: false }, robots: { obey: false } } })
      assert.equal(summary.reason, 'finished')
      assert.ok(summary.outcomes.some(({ state, reason }) => state === 'failed' && reason === 'http 429'))
      assert.ok(server.asked.length <= 110, String(server.asked.length))
    }))

  test('a frontier that is locked by another program ends it with one error, and nothing is left unheard', () =>
    withSite((url) => (url === '/' ? Array.from({ length: 150 }, (_, n) => `<a href="/${n}">x</a>`).join('') : ''), async ({ crawl, dataDir }) => {
      const unheard: unknown[] = []
      const hear = (error: unknown) => void unheard.push(error)
      process.on('unhandledRejection', hear)
      let lock: Database.Database | undefined
      // Between two transactions of the crawl.
      const takeLock = (database: Database.Database) => {
        try {
          database.exec('begin immediate')
        } catch {
          setImmediate(() => takeLock(database))
        }
      }
      try {
        const locking = crawl(Follow, {
          settings: { stop: { outageMs: 0 } },
          onOpen: ({ signals }) => void signals.on('response_received', () => {
            if (lock !== undefined) return
            lock = new Database(join(dataDir, 'frontier', 'site.db'), { timeout: 0 })
            takeLock(lock)
          }),
        })
        await assert.rejects(locking, (error: Error) => isCrawlError(error, 'storage'))
        await new Promise(setImmediate)
        assert.deepEqual(unheard, [])
      } finally {
        process.off('unhandledRejection', hear)
        lock?.close()
      }
    }))

  test('a stop at the very end leaves a run that has ended', () =>
    withSite({ '/': '' }, async ({ crawl }) => {
      const first = await crawl(Follow, { settings: { limits: { pages: 1 } } })
      assert.deepEqual([first.reason, first.limit], ['finished', undefined])
      assert.equal((await crawl(Follow)).resumed, false)
    }))
})

describe('one bad thing', () => {
  test('a priority that is no number, a fallback that is no URL and data that is no JSON fail their page alone', () =>
    withSite({ '/': '<a href="/nan">1</a><a href="/big">2</a><a href="/fallback">3</a><a href="/last">4</a>', '/nan': '', '/big': '', '/fallback': '', '/last': '' }, async ({ crawl, server }) => {
      class Careless extends Follow {
        override async *parse(page: PageResponse): Results<any> {
          yield* super.parse(page)
          const { pathname } = new URL(page.url)
          if (pathname === '/nan') yield page.follow('/x', this.parse, { priority: NaN })
          if (pathname === '/big') yield page.image('/x.jpg', { n: 1n })
          if (pathname === '/fallback') yield { url: new URL('/none.jpg', page.url).href, pageUrl: page.url, data: {}, fallbacks: ['/small.jpg', 'javascript:1'] }
        }
      }
      const summary = await crawl(Careless)
      assert.equal(summary.reason, 'finished')
      assert.ok(server.asked.includes('GET /last') && server.asked.includes('GET /none.jpg'))
      const failed = summary.outcomes.filter(({ kind, state }) => kind === 'page' && state === 'failed').map(({ reason }) => reason)
      assert.deepEqual(failed.sort(), ['bad item', 'bad request'])
    }))

  test('a listener that rejects is logged', () =>
    withSite({ '/': '' }, async ({ crawl, log }) => {
      await crawl(Follow, { onOpen: ({ signals }) => void signals.on('response_received', (async () => Promise.reject(new Error('no mail today'))) as never) })
      assert.ok(log.some((line) => line.includes('no mail today')))
    }))

  test('a part that can’t be closed is reported, and everything is closed once', () =>
    withSite({ '/': '' }, async ({ crawl }) => {
      let closed = 0
      const part: DownloaderMiddleware = ({ onClose }) => {
        onClose(() => {
          closed++
          throw new Error('can’t close')
        })
        return (request, next) => next(request)
      }
      await assert.rejects(crawl(Follow, { project: withFirst(part) }), /can’t close/)
      assert.equal(closed, 1)
      assert.equal((await crawl(Follow)).resumed, false)
    }))

  test('a frontier whose folder is in the way gives its lock back', () =>
    withSite({ '/': '' }, async ({ crawl, dataDir }) => {
      writeFileSync(join(dataDir, 'frontier'), '')
      await assert.rejects(crawl(Follow), (error: Error) => isCrawlError(error, 'storage') && error.message.includes(join(dataDir, 'frontier')))
    }))

  test('a spider with a start() of its own must say where it may go; an inherited one counts', () =>
    withSite({ '/': '<a href="/in">i</a>', '/in': '' }, async ({ crawl }) => {
      abstract class Shared extends Spider {
        override async *start() {
          yield new Request(this.args['site'] ?? '')
        }
      }
      class Loose extends Shared {
        override parse = Follow.prototype.parse
      }
      class Bound extends Loose {
        override readonly allowedDomains = ['127.0.0.1']
      }
      await assert.rejects(crawl(Loose), (error: Error) => error instanceof SettingsError && error.message.includes('allowedDomains'))
      const summary = await crawl(Bound)
      assert.equal(summary.outcomes.find(({ state }) => state === 'done')?.count, 2)
    }))
})

describe('an image', () => {
  test('that was followed as a page is still kept', async () => {
    const photo = await picture(1)
    await withSite({ '/': '<a href="/full.jpg">full</a><a href="/next">next</a>', '/next': '<img src="/full.jpg">', '/full.jpg': photo }, async ({ crawl, dataDir }) => {
      await crawl(Follow)
      assert.deepEqual(readRows(dataDir).map(({ status }) => status), ['downloaded'])
    })
  })

  test('whose best addresses were refused before is tried under the next', async () => {
    const small = await picture(1)
    let isSmallThere = false
    const find = (url: string) => (url === '/' ? '<img srcset="/big.jpg 900w, /medium.jpg 600w" src="/small.jpg">' : url === '/small.jpg' ? (isSmallThere ? small : 503) : undefined)
    await withSite(find, async ({ crawl, dataDir }) => {
      await crawl(Follow)
      isSmallThere = true
      await crawl(Follow)
      const rows = Object.fromEntries(readRows(dataDir).map(({ url, status }) => [new URL(url).pathname, status]))
      assert.deepEqual(rows, { '/big.jpg': 'failed', '/medium.jpg': 'failed', '/small.jpg': 'downloaded' })
    })
  })
})

test('an aborted crawl that is run again ends with everything', async () => {
  const pictures = await Promise.all(Array.from({ length: 8 }, (_, index) => picture(index + 1)))
  const html = pictures.map((_, index) => `<img src="/${index}.jpg"><a href="/p${index}">x</a>`).join('')
  await withSite((url) => (url === '/' ? html : url.endsWith('.jpg') ? pictures[Number(/\d+/.exec(url)?.[0])] : ''), async ({ crawl, dataDir }) => {
    for (let round = 1; ; round++) {
      const aborting = new AbortController()
      let responses = 0
      const summary = await crawl(Follow, { aborting: aborting.signal, onOpen: ({ signals }) => void signals.on('response_received', () => void (++responses === 2 * round && aborting.abort())) })
      if (summary.reason === 'finished') break
      assert.equal(summary.reason, 'stopped')
    }
    assert.equal(readRows(dataDir).filter(({ status }) => status === 'downloaded').length, pictures.length)
  })
})
