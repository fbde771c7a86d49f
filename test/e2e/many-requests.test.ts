import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunSummary } from 'orbweaver'
import { crawl, makeProject } from '../cli/command.ts'
import { serve } from '../cli/site.ts'

const requests = 300_000
/** MB. What is left of it beside the program holds no tenth of the requests. */
const heap = 96

const spider = `import { Spider, type PageResponse, type Results } from 'orbweaver'

export default class Plain extends Spider {
  startUrls: string[] = [this.args.site ?? 'http://127.0.0.1:9/']

  async *parse(page: PageResponse): Results {
    if (!page.url.endsWith('/')) return
    const catalogue = 'catalogue/of/everything/that/was/ever/made/by/anyone/in/any/place/'
    for (let number = 0; number < ${requests}; number++) yield page.follow(\`/\${catalogue}\${number}\`)
  }
}
`

test(`a page that yields ${requests.toLocaleString('en')} requests stays within ${heap} MB, and what is not done waits for the next start`, async () => {
  const site = await serve((_, response) => response.setHeader('content-type', 'text/html').end('<p>one of many'))
  const project = makeProject({ 'spiders/plain.ts': spider })
  const start = async (pages: number) => {
    const args = ['run', 'plain', '--json', '-a', `site=${site.url}`, '-s', `limits.pages=${pages}`, '-s', 'concurrency=1']
    const { code, stdout, stderr } = await crawl(args, project.root, { NODE_OPTIONS: `--max-old-space-size=${heap}` })
    assert.equal(code, 4, stderr)
    const { left, outcomes, resumed } = JSON.parse(stdout) as RunSummary
    return { left, resumed, done: outcomes.map(({ kind, state, count }) => `${kind} ${state}: ${count}`) }
  }
  try {
    const nothing = { delayed: 0, leased: 0, failed: 0 }
    assert.deepEqual(await start(1), { left: { pending: requests, ...nothing }, resumed: false, done: ['page done: 1'] })
    assert.deepEqual(await start(50), { left: { pending: requests - 50, ...nothing }, resumed: true, done: ['page done: 51'] })
    assert.deepEqual([...site.requests].filter(([, count]) => count !== 1), [])
  } finally {
    await site.close()
    project.remove()
  }
})
