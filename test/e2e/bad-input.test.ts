import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { isCrawlError, Request, run, SettingsError, Spider, type PageResponse, type Results, type RunSummary } from 'orbweaver'
import project from '../../settings.ts'
import { picture, withSite } from '../engine/crawl-site.ts'
import { readRows } from './harvest.ts'

/** Follows every link and takes every image. */
class Plain extends Spider {
  override readonly startUrls = [this.args['site'] ?? '']
  override async *parse(page: PageResponse): Results {
    yield* page.images()
    for (const url of page.links()) yield page.follow(url)
  }
}

const countOf = (summary: RunSummary, state: string, reason = ''): number => summary.outcomes.filter((outcome) => outcome.state === state && outcome.reason === reason).reduce((sum, { count }) => sum + count, 0)

describe('bad input', () => {
  test('a callback that throws is counted with its place, what it had yielded is kept, and the rest goes on', () =>
    withSite({ '/': '<a href="/bad">b</a><a href="/good">g</a>', '/bad': '<a href="/later">l</a>', '/good': '', '/later': '' }, async ({ crawl, server, log }) => {
      class Throwing extends Plain {
        override async *parse(page: PageResponse): Results {
          yield* super.parse(page)
          if (page.url.endsWith('/bad')) throw new TypeError('no such selector')
        }
      }
      const summary = await crawl(Throwing)
      assert.equal(summary.reason, 'finished')
      assert.equal(countOf(summary, 'failed', 'callback threw'), 1)
      assert.equal(countOf(summary, 'done'), 3)
      assert.ok(server.asked.includes('GET /later'))
      const line = log.find((text) => text.includes('no such selector')) ?? ''
      assert.match(line, /parse\(\) threw on .*\/bad/)
    }))

  test('what a callback yields in error is named', () =>
    withSite({ '/': '' }, async ({ crawl, log }) => {
      class Wrong extends Plain {
        override async *parse(): Results {
          yield { src: 'x.jpg' } as never
        }
      }
      assert.equal(countOf(await crawl(Wrong), 'failed', 'bad item'), 1)
      assert.ok(log.some((text) => text.includes('{"src":"x.jpg"}') && text.includes('page.image')))
    }))

  test('a callback that is no method is refused when it is yielded', () =>
    withSite({ '/': '<a href="/x">x</a>' }, async ({ crawl, log }) => {
      class Unbound extends Plain {
        override async *parse(page: PageResponse): Results {
          yield page.follow('/x', async function* loose() {})
        }
      }
      assert.equal(countOf(await crawl(Unbound), 'failed', 'unknown callback'), 1)
      assert.ok(log.some((text) => text.includes('"loose" is no method')))
    }))

  test('a callback that has been renamed since its requests were stored fails them, not the crawl', () =>
    withSite({ '/': '<a href="/x">x</a><a href="/y">y</a>', '/x': '', '/y': '' }, async ({ crawl }) => {
      class Before extends Plain {
        override async *parse(page: PageResponse): Results {
          yield page.follow('/x', this.parseOld)
          yield page.follow('/y')
        }
        async *parseOld(): Results {}
      }
      await crawl(Before, { settings: { concurrency: 1, limits: { pages: 1 } } })
      const resumed = await crawl(Plain)
      assert.equal(resumed.resumed, true)
      assert.equal(countOf(resumed, 'failed', 'unknown callback'), 1)
      assert.equal(resumed.reason, 'finished')
    }))

  test('malformed links are left out, and a malformed URL that is followed is the callback’s error', () =>
    withSite({ '/': '<a href="http://[oops">a</a><a href="http://a b/">b</a><a href="/ok">ok</a><img src="http://:0:0/x.jpg">', '/ok': '' }, async ({ crawl, server }) => {
      const summary = await crawl(Plain)
      assert.equal(countOf(summary, 'done'), 2)
      assert.deepEqual(server.asked.filter((line) => line !== 'GET /robots.txt').sort(), ['GET /', 'GET /ok'])
      class Careless extends Plain {
        override async *parse(page: PageResponse): Results {
          yield page.follow('http://[oops')
        }
      }
      assert.equal(countOf(await crawl(Careless), 'failed', 'bad url'), 1)
    }))

  test('a host that does not answer is tried again, then failed; others go on', () =>
    withSite({ '/': '' }, async ({ crawl }) => {
      class TwoHosts extends Plain {
        override readonly startUrls = ['http://127.0.0.1:1/', this.args['site'] ?? '']
      }
      const summary = await crawl(TwoHosts)
      assert.equal(countOf(summary, 'done'), 1)
      assert.equal(summary.left.failed, 1)
      assert.ok(summary.outcomes.some(({ state }) => state === 'retry'))
    }))

  test('an image that can’t be had leaves its row with the reason, and its fallback is taken', async () => {
    const good = await picture(1)
    await withSite({ '/': '<img src="/small.jpg" srcset="/large.jpg 1000w" alt="x"><img src="/half.jpg">', '/small.jpg': good, '/half.jpg': good.subarray(0, good.length / 2) }, async ({ crawl, dataDir }) => {
      await crawl(Plain)
      const rows = Object.fromEntries(readRows(dataDir).map(({ url, status, reason }) => [new URL(url).pathname, [status, reason]]))
      assert.deepEqual(rows, { '/large.jpg': ['failed', 'http 404'], '/small.jpg': ['downloaded', null], '/half.jpg': ['failed', 'truncated'] })
    })
  })

  test('a start() that throws ends with its message after what it gave', () =>
    withSite({ '/': '', '/one': '' }, async ({ crawl, server }) => {
      class Broken extends Plain {
        override async *start() {
          yield new Request(`${server.url}/one`)
          throw new Error('the list is missing')
        }
      }
      await assert.rejects(crawl(Broken), /the list is missing/)
      assert.ok(server.asked.includes('GET /one'))
    }))

  test('a spider with nowhere to begin, and one that can’t be made, are refused', () =>
    withSite({}, async ({ crawl }) => {
      class Nowhere extends Spider {
        override async *parse(): Results {}
      }
      class Unmade extends Plain {
        constructor() {
          super()
          throw new Error('give me an album with -a album=…')
        }
      }
      for (const site of ['gallery.example', 'ftp://gallery.example/', 'http://[oops']) {
        await assert.rejects(crawl(Plain, { args: { site } }), (error: Error) => error instanceof SettingsError && error.message.includes(`"${site}"`))
      }
      await assert.rejects(crawl(Nowhere), (error: Error) => error instanceof SettingsError && /nowhere to begin/.test(error.message))
      await assert.rejects(crawl(Unmade), (error: Error) => error instanceof SettingsError && /-a album/.test(error.message))
    }))

  test('settings.ts without a list of parts is refused, and so is a list that commits no row', () =>
    withSite({ '/': '<img src="/a.jpg">', '/a.jpg': Buffer.alloc(0) }, async ({ crawl }) => {
      await assert.rejects(crawl(Plain, { project: { ...project, pipelines: undefined } as never }), /settings\.ts must give pipelines/)
    }))

  test('a folder that the system refuses to make is named', { skip: existsSync('/proc/self') ? false : 'there is no /proc' }, () =>
    withSite({ '/': '' }, async ({ crawl }) => {
      await assert.rejects(crawl(Plain, { settings: { dataDir: '/proc/orbweaver' } }), (error: Error) => isCrawlError(error, 'settings') && error.message.includes('/proc/orbweaver'))
      await assert.rejects(crawl(Plain, { settings: { files: '/proc/orbweaver' } }), (error: Error) => isCrawlError(error, 'storage') && error.message.includes('/proc/orbweaver'))
      await assert.rejects(crawl(Plain, { settings: { database: 'sqlite:/proc/orbweaver/crawl.db' } }), (error: Error) => isCrawlError(error, 'storage') && error.message.includes('/proc/orbweaver'))
    }))

  test('a folder that can’t be written is named', () =>
    withSite({ '/': '' }, async ({ crawl, dataDir }) => {
      writeFileSync(join(dataDir, 'file'), '')
      for (const settings of [{ dataDir: join(dataDir, 'file', 'data') }, { files: join(dataDir, 'file', 'images') }]) {
        await assert.rejects(crawl(Plain, { settings }), (error: Error) => isCrawlError(error) && error.message.includes(join(dataDir, 'file')))
      }
    }))

  test('a database that is down is named, without its password', () =>
    withSite({ '/': '' }, async ({ crawl, server }) => {
      const database = 'postgresql://me:secret@127.0.0.1:1/images'
      await assert.rejects(crawl(Plain, { settings: { database } }), (error: Error) => isCrawlError(error, 'storage') && error.message.includes('127.0.0.1:1') && !error.message.includes('secret'))
      assert.deepEqual(server.asked, [])
      await assert.rejects(crawl(Plain, { settings: { database: 'mysql://x' } }), SettingsError)
    }))

  test('a full disk ends the crawl with what was collected, and it goes on when there is room', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'orbweaver-full-'))
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', folder]).status === 0
    try {
      if (!mounted) return context.skip('a small disk can be mounted by root on Linux only')
      const pictures = await Promise.all(Array.from({ length: 12 }, (_, index) => picture(index + 1, { width: 1600, height: 1200 })))
      const html = pictures.map((_, index) => `<img src="/${index}.jpg">`).join('')
      const ballast = join(folder, 'ballast')
      await withSite((url) => (url === '/' ? html : pictures[Number(/\d+/.exec(url)?.[0])]), async ({ crawl }) => {
        writeFileSync(ballast, Buffer.alloc(2_300_000))
        const settings = { dataDir: folder, concurrency: 2, stop: { outageMs: 0 } }
        await assert.rejects(crawl(Plain, { settings }), (error: Error) => isCrawlError(error, 'storage') && /full/.test(error.message) && error.message.includes(folder))
        rmSync(ballast)
        const resumed = await crawl(Plain, { settings })
        assert.equal(resumed.reason, 'finished')
        assert.equal(resumed.images.find(({ status }) => status === 'downloaded')?.count, pictures.length)
      })
    } finally {
      if (mounted) spawnSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true })
    }
  })

  test('run() leaves nothing behind that keeps the process or the frontier', () =>
    withSite({ '/': '' }, async ({ crawl, dataDir }) => {
      mkdirSync(join(dataDir, 'x'), { recursive: true })
      await crawl(Plain)
      const again = await run({ name: 'site', spider: Plain, project, args: { site: 'http://127.0.0.1:1/' }, environment: {}, settings: { dataDir, retry: { attempts: 0 }, network: { allowPrivate: true } } })
      assert.equal(again.resumed, false)
      assert.equal(again.left.failed, 1)
    }))
})
