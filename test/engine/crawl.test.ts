import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Request, Spider, type PageResponse, type Results } from 'orbweaver'
import { readRows } from '../e2e/harvest.ts'
import { picture, withSite } from './crawl-site.ts'

class Follow extends Spider {
  override readonly startUrls = [this.args['site'] ?? '']
  override async *parse(page: PageResponse): Results {
    yield* page.images()
    for (const url of page.links()) yield page.follow(url)
  }
}

const pagesOf = (asked: readonly string[]): string[] => asked.filter((line) => line !== 'GET /robots.txt').map((line) => line.slice('GET '.length))

describe('a crawl', () => {
  test('asks once for what is linked many times and in many spellings', () =>
    withSite({ '/': '<a href="/a">1</a><a href="/./a#x">2</a><a href="/%61">3</a><a href="/">home</a>', '/a': '<a href="/">home</a>' }, async ({ crawl, server }) => {
      await crawl(Follow)
      assert.deepEqual(pagesOf(server.asked), ['/', '/a'])
    }))

  test('goes no deeper than it may, however a request was made', () =>
    withSite({ '/': '', '/1': '', '/2': '', '/3': '' }, async ({ crawl, server }) => {
      class Deeper extends Follow {
        override async *parse(page: PageResponse): Results {
          yield new Request(new URL(`/${page.request.depth + 1}`, page.url))
        }
      }
      await crawl(Deeper, { settings: { pages: { maxDepth: 2 } } })
      assert.deepEqual(pagesOf(server.asked), ['/', '/1', '/2'])
    }))

  test('visits higher priorities first', () =>
    withSite((url) => (url === '/' ? '' : 'x'), async ({ crawl, server }) => {
      class Ordered extends Follow {
        override async *parse(page: PageResponse): Results {
          if (page.url.endsWith('/')) for (const n of [1, 3, 2]) yield page.follow(`/${n}`, this.parse, { priority: n })
        }
      }
      await crawl(Ordered, { settings: { concurrency: 1 } })
      assert.deepEqual(pagesOf(server.asked), ['/', '/3', '/2', '/1'])
    }))

  test('stops after as many images as it may keep, and goes on from there', async () => {
    const pictures = await Promise.all(Array.from({ length: 6 }, (_, index) => picture(index + 1)))
    const html = pictures.map((_, index) => `<img src="/${index}.jpg">`).join('')
    await withSite((url) => (url === '/' ? html : pictures[Number(/\d+/.exec(url)?.[0])]), async ({ crawl, dataDir }) => {
      const first = await crawl(Follow, { settings: { concurrency: 1, limits: { images: 2 } } })
      assert.deepEqual([first.reason, first.limit], ['limit', 'limits.images'])
      assert.equal(readRows(dataDir).filter(({ status }) => status === 'downloaded').length, 2)
      const rest = await crawl(Follow)
      assert.equal(rest.reason, 'finished')
      assert.equal(readRows(dataDir).filter(({ status }) => status === 'downloaded').length, 6)
    })
  })

  test('ends at once when every host that is left asks for a longer pause than it may wait for', () =>
    withSite({ '/': '<a href="/busy">b</a>', '/busy': 429 }, async ({ crawl }) => {
      const summary = await crawl(Follow, { settings: { limits: { blockedMs: 1 }, retry: { backoffMs: 60_000 } } })
      assert.equal(summary.reason, 'blocked')
      assert.equal(summary.left.pending, 1)
    }))

  test('one page with very many links is written as it is read, and loses none', () =>
    withSite((url) => (url === '/' ? Array.from({ length: 3_000 }, (_, n) => `<a href="/p${n}">x</a>`).join('') : ''), async ({ crawl, server }) => {
      const summary = await crawl(Follow)
      assert.equal(summary.outcomes.find(({ state }) => state === 'done')?.count, 3_001)
      assert.equal(new Set(server.asked).size, 3_002)
    }))

  test('pages that several URLs redirect to are read once', async () => {
    let parsed = 0
    class Counting extends Follow {
      override async *parse(page: PageResponse): Results {
        if (page.url.endsWith('/real')) parsed++
        yield* super.parse(page)
      }
    }
    const { createServer } = await import('node:http')
    const server = createServer((request, response) => {
      if (request.url === '/') response.end('<a href="/1">1</a><a href="/2">2</a><a href="/real">r</a>')
      else if (request.url === '/1' || request.url === '/2') response.writeHead(302, { location: '/real' }).end()
      else if (request.url === '/real') response.end('')
      else response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as { port: number }
      await withSite({}, async ({ crawl }) => {
        const summary = await crawl(Counting, { args: { site: `http://127.0.0.1:${port}/` } })
        assert.equal(parsed, 1)
        assert.equal(summary.outcomes.find(({ reason }) => reason === 'redirected to a known page')?.count, 2)
      })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test('a user’s own parts see everything, in the order of the list', () =>
    withSite({ '/': '<img src="/a.jpg">', '/a.jpg': Buffer.from('no image') }, async ({ crawl, log }) => {
      const { default: project } = await import('../../settings.ts')
      const seen: string[] = []
      await crawl(Follow, {
        project: {
          ...project,
          downloaderMiddlewares: [
            ({ onClose }) => {
              onClose(() => void seen.push('closed'))
              return async function watch(request, next) {
                seen.push(`${request.kind} ${new URL(request.url).pathname}`)
                return next(request)
              }
            },
            ...project.downloaderMiddlewares,
          ],
        },
        onOpen: ({ signals }) => {
          signals.on('item_dropped', (item, reason) => void seen.push(`${new URL(item.url).pathname}: ${reason}`))
          signals.on('crawl_closed', () => {
            throw new Error('a listener’s own fault')
          })
        },
      })
      assert.deepEqual(seen, ['page /', 'image /a.jpg', '/a.jpg: not an image', 'closed'])
      assert.ok(log.some((line) => line.includes('a listener’s own fault')))
    }))
})
