import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Request } from '../../framework/http/request.ts'
import type { PageResponse, Results } from '../../framework/http/response.ts'
import { depth } from '../../middlewares/depth.ts'
import { answer, openCrawl } from './crawl.ts'

describe('depth', () => {
  async function yielded(maxDepth: number, pageDepth: number) {
    const crawl = await openCrawl({ settings: { pages: { maxDepth } } })
    try {
      const page = answer(new Request('http://a.example/', { depth: pageDepth }))
      async function* callback(page: PageResponse): Results {
        yield page.follow('/followed')
        yield new Request('http://a.example/made')
        yield new Request('http://a.example/deep', { depth: 9 })
        yield new Request('http://a.example/i.jpg', { kind: 'image' })
        yield page.image('/item.jpg')
      }
      const handler = await depth(crawl.crawl)
      const results: string[] = []
      for await (const result of handler(page, callback)) {
        results.push(Request.is(result) ? `${new URL(result.url).pathname} ${result.depth}` : result.url)
      }
      return { results, dropped: crawl.crawl.stats.get('depth/dropped') }
    } finally {
      await crawl.close()
    }
  }

  test('drops pages that are too deep, and counts them; images stay', async () => {
    const kept = ['/i.jpg 0', 'http://a.example/item.jpg']
    assert.deepEqual(await yielded(2, 1), { results: ['/followed 2', '/made 0', ...kept], dropped: 1 })
    assert.deepEqual(await yielded(2, 2), { results: kept, dropped: 3 })
  })

  test('has no limit by default', async () => {
    const { results, dropped } = await yielded(0, 5)
    assert.deepEqual(results.slice(0, 3), ['/followed 6', '/made 0', '/deep 9'])
    assert.equal(dropped, 0)
  })
})
