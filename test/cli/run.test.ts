import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, test } from 'node:test'
import type { RunSummary } from 'orbweaver'
import { crawl, makeProject, plainSpider, RunningCommand } from './command.ts'
import { serve, serveGallery, type Site } from './site.ts'

type JsonSummary = RunSummary & { readonly exit: number; readonly resume?: string }

describe('crawl run', () => {
  const closers: (() => void | Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })
  const project = (files: Readonly<Record<string, string>> = {}) => {
    const made = makeProject({ 'spiders/plain.ts': plainSpider, ...files })
    closers.push(() => made.remove())
    return made.root
  }
  const open = async (site: Promise<Site>): Promise<Site> => {
    const opened = await site
    closers.push(() => opened.close())
    return opened
  }

  test('--json: one object on standard output and nothing else; the log is on standard error', async () => {
    const site = await open(serveGallery(4))
    const root = project()
    const { code, stdout, stderr } = await crawl(['run', 'plain', '-a', `site=${site.url}`, '--json', '-s', 'database=sqlite:own.db'], root)
    assert.equal(code, 0, stderr)
    assert.equal(stdout.split('\n').length, 2)
    const summary = JSON.parse(stdout) as JsonSummary
    assert.deepEqual([summary.reason, summary.exit, summary.resume], ['finished', 0, undefined])
    assert.deepEqual(summary.images.map(({ status, count }) => [status, count]), [['downloaded', 4]])
    assert.match(stderr, /^\d\d:\d\d:\d\d info: plain: begins a new run · 4 at once to a host, 0 ms apart · robots\.txt is IGNORED\n/)
    assert.ok(existsSync(join(root, 'own.db')))
  })

  test('a second run says that nothing was downloaded, and since when everything is known', async () => {
    const site = await open(serveGallery(3))
    const root = project()
    const args = ['run', 'plain', '-q', '-a', `site=${site.url}`]
    const first = await crawl(args, root)
    assert.match(first.stderr, /^\nplain finished in [^]*images +3 {2}downloaded, [^]*files +data\/images\ndatabase +data\/crawl\.db\nnext +npx crawl status plain/)
    assert.equal(first.stdout, '')
    const second = await crawl(args, root)
    assert.match(second.stderr, /^0 images downloaded: all 3 are known since the run of \d{4}-\d\d-\d\d \d\d:\d\d\.$/m)
    assert.equal(site.requests.get('/2.png'), 1)
  })

  test('spider, settings and engine share one copy of the package, whatever the project calls its modules', async () => {
    const site = await open(serveGallery(3))
    for (const manifest of [undefined, '{"type":"commonjs"}', '{"type":"module"}']) {
      const root = project({
        ...(manifest === undefined ? {} : { 'package.json': manifest }),
        'parts/checks.ts': `import { DropItem, Request, Spider, PageResponse, type Pipeline, type SpiderMiddleware } from 'orbweaver'
export const pipeline: Pipeline = () => async (item, next) => {
  if (item.url.endsWith('/1.png')) throw new DropItem('not this one')
  return next(item)
}
export const middleware: SpiderMiddleware = () => async function* (page, next) {
  if (!(page instanceof PageResponse)) throw new Error('another PageResponse')
  if (!(page.request instanceof Request)) throw new Error('another Request')
  yield* next(page)
}
export { Spider }
`,
        'spiders/own.ts': plainSpider.replace('export default', "import { Spider as Same } from '../parts/checks.ts'\nif (Same !== Spider) throw new Error('another Spider')\n\nexport default"),
        'settings.ts': `import { defineSettings } from 'orbweaver'
import { downloaderMiddlewares, spiderMiddlewares } from 'orbweaver/middlewares'
import { pipelines } from 'orbweaver/pipelines'
import { middleware, pipeline } from './parts/checks.ts'
export default defineSettings({
  network: { allowPrivate: true }, slot: { delayMs: 0 }, robots: { obey: false },
  downloaderMiddlewares, spiderMiddlewares: [middleware, ...spiderMiddlewares], pipelines: [pipeline, ...pipelines],
})
`,
      })
      const { code, stdout, stderr } = await crawl(['run', 'own', '-a', `site=${site.url}`, '--json'], root)
      assert.equal(code, 0, stderr)
      const { images, outcomes } = JSON.parse(stdout) as JsonSummary
      assert.deepEqual(images.map(({ status, reason, count }) => [status, reason, count]), [['downloaded', '', 2], ['dropped', 'not this one', 1]])
      assert.deepEqual(outcomes.filter(({ kind }) => kind === 'page').map(({ state, count }) => [state, count]), [['done', 3]])
    }
  })

  test('--limit ends with 4, an unmet expectation with 3, and the same command goes on', async () => {
    const site = await open(serveGallery(6))
    const root = project()
    const args = ['run', 'plain', '-a', `site=${site.url}`, '--json', '-s', 'concurrency=1']
    const limited = await crawl([...args, '--limit', '2'], root)
    const summary = JSON.parse(limited.stdout) as JsonSummary
    assert.deepEqual([limited.code, summary.exit, summary.reason, summary.limit], [4, 4, 'limit', 'limits.images'])
    assert.equal(summary.resume, `npx crawl run plain -a site=${site.url} -s concurrency=1`)
    const rest = await crawl([...args, '-s', 'expect.images=7'], root)
    assert.equal(rest.code, 3, rest.stderr)
    assert.deepEqual((JSON.parse(rest.stdout) as JsonSummary).images.map(({ status, count }) => [status, count]), [['downloaded', 6]])
    for (let number = 0; number < 6; number++) assert.equal(site.requests.get(`/${number}.png`), 1)
  })

  test('--fresh does not give up an unfinished run without being told so', async () => {
    const site = await open(serveGallery(3))
    const root = project()
    const args = ['run', 'plain', '-a', `site=${site.url}`, '-q', '--fresh']
    assert.equal((await crawl([...args, '--limit', '1', '-s', 'concurrency=1'], root)).code, 4)
    const refused = await crawl(args, root)
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /^The run of [^]* has not ended: \d+ requests? left\.[^]*--yes[^\n]*\n$/)
    const agreed = await crawl([...args, '--yes'], root)
    assert.equal(agreed.code, 0)
    assert.match(agreed.stderr, /^plain finished in/m)
    assert.equal(site.requests.get('/'), 2)
    assert.equal((await crawl(args, root)).code, 0, 'a finished run may be begun anew without a question')
  })

  test('a host that asks for more patience than limits.blockedMs: exit code 5', async () => {
    const site = await open(serve((_, response) => response.writeHead(429, { 'retry-after': '3600' }).end()))
    const root = project()
    const args = ['run', 'plain', '-a', `site=${site.url}`, '-s', 'limits.blockedMs=1000', '-s', 'retry.attempts=3']
    const { code, stdout, stderr } = await crawl([...args, '--json'], root)
    assert.equal(code, 5, stderr)
    assert.equal((JSON.parse(stdout) as JsonSummary).reason, 'blocked')
    const again = await crawl(args, root)
    assert.equal(again.code, 5)
    assert.match(again.stderr, /^requests .*\n +1 {2}waits until [\d :-]+ or later: the next run takes it up$/m)
    assert.equal(site.requests.get('/'), 1)
  })

  test('a database that is none: one message, no stack, exit code 6', async () => {
    const root = project()
    mkdirSync(join(root, 'data'))
    writeFileSync(join(root, 'data/crawl.db'), 'this is no database, however long one looks at it'.repeat(100))
    const { code, stderr, stdout } = await crawl(['run', 'plain', '--json'], root)
    assert.equal(code, 6)
    assert.match(stderr, /^[^\n]*data\/crawl\.db[^\n]*\n$/)
    assert.equal(stdout, '')
  })

  test('a second process on the same spider is refused while the first goes on', async () => {
    let release = () => {}
    const site = await open(serveGallery(4, new Promise((resolve) => (release = resolve))))
    const root = project()
    const args = ['run', 'plain', '-a', `site=${site.url}`, '-s', 'slot.concurrency=8']
    const first = new RunningCommand(args, root)
    await first.says('begins a new run')
    const second = await crawl(args, root)
    assert.equal(second.code, 6)
    assert.match(second.stderr, new RegExp(`is in use by process ${first.child.pid}\\.`))
    release()
    assert.equal((await first.ended()).code, 0)
  })

  test('an error that nobody caught ends with a message, its place and 1, and what was kept stays', async () => {
    const site = await open(serveGallery(3))
    const root = project({ 'spiders/careless.ts': plainSpider.replace('yield* page.images()', "yield* page.images()\n    if (page.url.endsWith('/a')) Promise.resolve().then(() => { throw new Error('nobody looks') })") })
    const { code, stderr } = await crawl(['run', 'careless', '-a', `site=${site.url}`], root)
    assert.equal(code, 1)
    assert.match(stderr, /^Unexpected error: nobody looks \(spiders\/careless\.ts:\d+:\d+\)$/m)
    assert.doesNotMatch(stderr, /node:internal/)
    const rest = await crawl(['run', 'plain', '-a', `site=${site.url}`, '-q'], root)
    assert.equal(rest.code, 0)
    assert.ok(readdirSync(join(root, 'data/images')).length > 0)
  })

  test('--log-json writes one object a line, with time, level, host and reason', async () => {
    const site = await open(serve((_, response) => response.writeHead(500).end()))
    const root = project()
    const { stderr, code } = await crawl(['run', 'plain', '-a', `site=${site.url}`, '--log-json', '--json'], root)
    assert.equal(code, 3)
    const lines = stderr.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>)
    const failed = lines.find((line) => line['level'] === 'warn')
    assert.deepEqual([failed?.['reason'], failed?.['url']], ['http 500', site.url])
    assert.match(String(failed?.['time']), /^\d{4}-\d\d-\d\dT/)
  })
})
