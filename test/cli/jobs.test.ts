import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'libsql'
import type { RunSummary } from 'orbweaver'
import type { ListedJob } from '../../framework/cli/commands/jobs.ts'
import type { SpiderStatus } from '../../framework/cli/spider-status.ts'
import { crawl, makeProject, plainSpider, RunningCommand } from './command.ts'
import { serve, serveGallery, type Site } from './site.ts'

const closers: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function project(files: Readonly<Record<string, string>> = {}): string {
  const made = makeProject({ 'spiders/plain.ts': plainSpider, ...files })
  closers.push(() => made.remove())
  return made.root
}

async function opened(site: Promise<Site>): Promise<Site> {
  const open = await site
  closers.push(() => open.close())
  return open
}

async function json<T>(args: readonly string[], cwd: string, code = 0): Promise<T> {
  const ended = await crawl([...args, '--json'], cwd)
  assert.equal(ended.code, code, ended.stderr)
  return JSON.parse(ended.stdout) as T
}

const filesOf = (root: string): string[] => readdirSync(join(root, 'data/frontier')).sort()

/** A first page that links to as many pages as there are answers; an answer is a status. */
function servePages(answers: readonly number[]): Promise<Site> {
  return serve((request, response) => {
    response.setHeader('content-type', 'text/html')
    const [path = ''] = request.url?.split('?') ?? []
    const links = answers.map((_, index) => `<a href="/${index + 1}">x</a>`).join('')
    response.writeHead(answers[Number(path.slice(1)) - 1] ?? 200).end(path === '/' ? links : '')
  })
}

describe('crawl jobs', () => {
  test('lists every job with how it stands, and what is damaged does not hide the others', async () => {
    let release = () => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    const gallery = await opened(serveGallery(5, gate))
    const pages = await opened(servePages([200, 503, 200, 200]))
    const root = project({ 'spiders/limited.ts': plainSpider, 'spiders/ended.ts': plainSpider, 'spiders/foreign.ts': plainSpider, 'spiders/never.ts': plainSpider })
    assert.match((await crawl(['jobs'], root)).stderr, /^There are no jobs yet\. `npx crawl run <spider>` begins one\.\n$/)

    assert.equal((await crawl(['run', 'ended', '-a', `site=${pages.url}`], root)).code, 0)
    assert.equal((await crawl(['run', 'limited', '-a', `site=${pages.url}`, '-s', 'limits.pages=1', '-s', 'concurrency=1'], root)).code, 4)
    const command = new RunningCommand(['run', 'plain', '-a', `site=${gallery.url}`, '-s', 'slot.concurrency=8'], root)
    await command.says('begins')
    while (!gallery.requests.has('/4.png')) await delay(20)
    writeFileSync(join(root, 'data/frontier/foreign.db'), 'SQLite format 3 this is not'.repeat(200))
    mkdirSync(join(root, 'data/demo/frontier'), { recursive: true })
    for (const copy of ['frontier/gone', 'demo/frontier/demo']) {
      for (const suffix of ['', '-wal']) if (existsSync(join(root, `data/frontier/ended.db${suffix}`))) copyFileSync(join(root, `data/frontier/ended.db${suffix}`), join(root, `data/${copy}.db${suffix}`))
    }

    const jobs = new Map((await json<ListedJob[]>(['jobs'], root, 6)).map((job) => [job.spider, job]))
    const briefly = (name: string) => {
      const { state, done, total, left, failed, command: next } = jobs.get(name) ?? {}
      return [state, done, total, left, failed, next?.replace(/ -a site=http:\/\/127\.0\.0\.1:\d+\/$/, ' -a SITE')]
    }
    assert.deepEqual([...jobs.keys()], ['ended', 'foreign', 'limited', 'plain', 'gone', 'demo'])
    assert.deepEqual(briefly('ended'), ['finished', 5, 5, 0, 1, 'npx crawl run ended -a SITE'])
    assert.deepEqual(briefly('gone'), ['finished', 5, 5, 0, 1, undefined])
    assert.deepEqual(briefly('demo'), ['finished', 5, 5, 0, 1, 'npx crawl demo'])
    assert.deepEqual(briefly('limited'), ['limit', 1, 5, 4, 0, 'npx crawl run limited -a SITE'])
    assert.equal(jobs.get('plain')?.state, 'running')
    assert.equal(jobs.get('plain')?.process, command.child.pid)
    assert.match(jobs.get('foreign')?.error ?? '', /foreign\.db is damaged or no frontier/)

    command.child.kill('SIGKILL')
    await command.ended()
    release()
    const shown = await crawl(['jobs'], join(root, 'spiders'))
    assert.equal(shown.code, 6)
    assert.match(shown.stdout, /^spider +state +done +left +delayed +failed +begun +written +size$/m)
    assert.match(shown.stdout, /^ended +finished +5 of 5 +100 % +1 +\d{4}-\d\d-\d\d \d\d:\d\d +\S.* ago +\d\S* [kM]?B$/m)
    assert.match(shown.stdout, /^plain +killed +\d+ of \d+ +\d+ % +\d+ +/m)
    assert.match(shown.stdout, /^foreign: The frontier .*foreign\.db is damaged/m)
    assert.match(shown.stdout, /^gone: there is no such spider any more$/m)

    const status = (await crawl(['status'], root)).stdout
    assert.match(status, /^plain {2}killed \d{4}-/m)
    assert.match(status, /^limited {2}stopped \(limit\) \d{4}-/m)
    assert.match(status, /^ended {2}finished [^]*? given up +1 page http 503 · npx crawl jobs retry ended$/m)
  })
})

describe('crawl jobs clean', () => {
  test('removes the files of jobs that have ended; images stay known, and what is unfinished or running is kept', async () => {
    let release = () => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    const gallery = await opened(serveGallery(3))
    const slow = await opened(serveGallery(4, gate))
    const root = project({ 'spiders/limited.ts': plainSpider, 'spiders/busy.ts': plainSpider })
    const args = ['run', 'plain', '-a', `site=${gallery.url}`]
    assert.equal((await crawl(args, root)).code, 0)
    assert.equal((await crawl(['run', 'limited', '-a', `site=${gallery.url}`, '-s', 'limits.pages=1', '-s', 'concurrency=1'], root)).code, 4)
    const busy = new RunningCommand(['run', 'busy', '-a', `site=${slow.url}`, '-s', 'slot.concurrency=8'], root)
    await busy.says('begins')
    writeFileSync(join(root, 'data/frontier/plain.db.set-aside-2026-01-01T00-00-00-000Z'), 'x'.repeat(5_000_000))
    assert.match((await crawl(['jobs'], root)).stdout, /^1 frontier set aside \(5\.0 MB\), such as data\/frontier\/plain\.db\.set-aside-/m)

    const running = await crawl(['jobs', 'clean', 'busy', '--unfinished', '--yes'], root)
    assert.equal(running.code, 2)
    assert.match(running.stderr, new RegExp(`^The job of busy is kept: process ${busy.child.pid} is running it\\. Nothing was removed\\.\n$`))
    const cleaned = await crawl(['jobs', 'clean'], root)
    assert.equal(cleaned.code, 0, cleaned.stderr)
    assert.match(cleaned.stdout, /^removed {2}plain {2}finished {2}5\.\d MB\nkept +limited: stopped \(limit\), \d+ requests? left\. npx crawl run limited -a \S+ goes on with it; --unfinished removes it\n|^kept +busy: process/m)
    assert.match(cleaned.stdout, /^5\.\d MB given back\. Rows and images stay, and no image is downloaded twice\.$/m)
    assert.deepEqual(filesOf(root).filter((file) => file.startsWith('plain')), [])
    release()
    assert.equal((await busy.ended()).code, 0)

    assert.equal((await crawl(args, root)).code, 0)
    assert.deepEqual(['/0.png', '/1.png', '/2.png'].map((path) => gallery.requests.get(path)), [1, 1, 1])
  })

  test('an unfinished one is removed only when it was asked for and agreed to', async () => {
    const site = await opened(servePages([200, 200]))
    const root = project()
    assert.equal((await crawl(['run', 'plain', '-a', `site=${site.url}`, '-s', 'limits.pages=1', '-s', 'concurrency=1'], root)).code, 4)
    const before = filesOf(root)
    const refused = await crawl(['jobs', 'clean', 'plain'], root)
    assert.deepEqual([refused.code, refused.stdout], [2, ''])
    assert.match(refused.stderr, /^The job of plain is kept: stopped \(limit\), 2 requests left\..*--unfinished removes it\. Nothing was removed\.\n$/)
    const unasked = await crawl(['jobs', 'clean', '--unfinished'], root)
    assert.equal(unasked.code, 2)
    assert.match(unasked.stderr, /^The run of .* has not ended: 2 requests left\. Removing the job of plain gives up its queue; .* Add --yes to do so/)
    assert.deepEqual(filesOf(root), before)
    const { removed, bytes } = await json<{ removed: { spider: string; state: string }[]; bytes: number }>(['jobs', 'clean', '--unfinished', '-y'], root)
    assert.deepEqual(removed.map(({ spider, state }) => [spider, state]), [['plain', 'limit']])
    assert.ok(bytes > 4_096)
    assert.deepEqual(filesOf(root), [])
    assert.match((await crawl(['jobs', 'clean'], root)).stdout, /^Nothing was removed: no job has ended\.\n$/)
  })

  test('what can not be read is kept unless it is named', async () => {
    const root = project()
    mkdirSync(join(root, 'data/frontier'), { recursive: true })
    writeFileSync(join(root, 'data/frontier/plain.db'), 'no database'.repeat(1_000))
    const kept = await crawl(['jobs', 'clean', '--unfinished', '--yes'], root)
    assert.equal(kept.code, 6)
    assert.match(kept.stdout, /^kept +plain: The frontier .* is damaged or no frontier.*npx crawl jobs clean plain --unfinished$/m)
    assert.ok(existsSync(join(root, 'data/frontier/plain.db')))
    assert.equal((await crawl(['jobs', 'clean', 'plain', '--unfinished', '--yes'], root)).code, 0)
    assert.deepEqual(filesOf(root), [])
  })
})

describe('crawl jobs retry', () => {
  test('an ended job goes on with what has failed, images too, and reports count it no more', async () => {
    let isMended = false
    const gallery = await opened(serveGallery(2))
    const site = await opened(serve((request, response) => {
      response.setHeader('content-type', 'text/html')
      if (request.url === '/') response.end('<a href="/away">a</a><a href="/cut">b</a><a href="/none">c</a><img src="/0.png"><img src="/1.png">')
      else if (request.url === '/none') response.writeHead(404).end()
      else if (request.url?.endsWith('.png') && (isMended || request.url === '/1.png')) void fetch(gallery.url + request.url.slice(1)).then(async (image) => response.setHeader('content-type', 'image/png').end(Buffer.from(await image.arrayBuffer())))
      else if (isMended) response.end('fine')
      else if (request.url === '/cut') request.socket.destroy()
      else response.writeHead(503).end()
    }))
    const root = project()
    const args = ['run', 'plain', '-a', `site=${site.url}`]
    const first = await crawl(args, root)
    assert.equal(first.code, 0, first.stderr)
    assert.match(first.stderr, /^next +npx crawl jobs retry plain +has the next run try the 3 that failed once more$/m)
    isMended = true

    const none = await crawl(['jobs', 'retry', 'plain', '--reason', 'http 500'], root)
    assert.equal(none.code, 0)
    assert.match(none.stdout, /^No request of plain has failed with the reason "http 500"\. There are: 2 http 503, 1 [a-z ]+\n$/)
    assert.equal((await json<ListedJob[]>(['jobs'], root))[0]?.state, 'finished', 'nothing was put back, so it has still ended')

    const some = await crawl(['jobs', 'retry', 'plain', '--reason', 'http 503'], root)
    assert.match(some.stdout, /^2 requests of plain will be tried again: 1 image http 503, 1 page http 503\nnext {2}npx crawl run plain\n$/)
    const [stopped] = await json<ListedJob[]>(['jobs'], root)
    assert.deepEqual([stopped?.state, stopped?.left, stopped?.failed, stopped?.done, stopped?.total], ['to retry', 2, 1, 4, 6])
    assert.equal((await json<{ count: number }>(['jobs', 'retry', 'plain'], root)).count, 1)

    const before = new Map(site.requests)
    const { resumed, outcomes, images } = await json<RunSummary>(args, root)
    assert.equal(resumed, true)
    assert.deepEqual([...site.requests].filter(([path, count]) => count !== before.get(path)).map(([path]) => path).sort(), ['/0.png', '/away', '/cut'])
    assert.deepEqual(outcomes.map(({ kind, state, count }) => [kind, state, count]).sort(), [['image', 'done', 2], ['page', 'done', 3], ['page', 'ignored', 1]])
    assert.deepEqual(images.map(({ status, count }) => [status, count]), [['downloaded', 2]])
    const [status] = await json<SpiderStatus[]>(['status', 'plain'], root)
    assert.deepEqual(status?.frontier?.failures, [])
  })

  test('a request that has failed again and again begins its tries anew, and one that can not be read is no obstacle', async () => {
    const site = await opened(servePages([503, 503]))
    const root = project()
    const args = ['run', 'plain', '-a', `site=${site.url}`, '-s', 'retry.attempts=1', '-s', 'retry.backoffMs=1']
    assert.equal((await crawl(args, root)).code, 0)
    assert.deepEqual([site.requests.get('/1'), site.requests.get('/2')], [2, 2])
    const database = new Database(join(root, 'data/frontier/plain.db'))
    database.exec(`update request set body = '{' where body like '%/2"%'`)
    database.close()
    const { count } = await json<{ count: number }>(['jobs', 'retry', 'plain'], root)
    assert.equal(count, 2)
    const { outcomes } = await json<RunSummary>(args, root)
    assert.deepEqual([site.requests.get('/1'), site.requests.get('/2')], [4, 2])
    assert.deepEqual(outcomes.filter(({ state }) => state === 'failed').map(({ reason, count: failed }) => [reason, failed]).sort(), [['http 503', 1], ['unreadable', 1]])
  })

  test('a job that runs is left alone, and where there is none that is said', async () => {
    let release = () => {}
    const site = await opened(serveGallery(3, new Promise((resolve) => (release = resolve))))
    const root = project()
    const missing = await crawl(['jobs', 'retry', 'plain'], root)
    assert.deepEqual([missing.code, missing.stderr], [2, 'There is no job of plain: nothing can have failed. `npx crawl run plain` begins one.\n'])
    const unknown = await crawl(['jobs', 'retry', 'plan'], root)
    assert.match(unknown.stderr, /^There is no spider "plan"\. Did you mean "plain"\?/)
    const running = new RunningCommand(['run', 'plain', '-a', `site=${site.url}`], root)
    await running.says('begins')
    const refused = await crawl(['jobs', 'retry', 'plain'], root)
    assert.equal(refused.code, 6)
    assert.match(refused.stderr, new RegExp(`is in use by process ${running.child.pid}\\.`))
    release()
    assert.equal((await running.ended()).code, 0)
  })
})

describe('crawl seen', () => {
  test('what one run has met is not fetched by another that it is imported into', async () => {
    const site = await opened(servePages([200, 200, 200]))
    const root = project({ 'spiders/other.ts': plainSpider.replace('yield page.follow(url)', "yield page.follow(url)\n    if (page.url.includes('begin')) yield page.follow('/extra')").replace("startUrls: string[] = [this.args.site ?? 'http://127.0.0.1:9/']", "startUrls: string[] = [`${this.args.site ?? 'http://127.0.0.1:9/'}?begin`]") })
    assert.equal((await crawl(['run', 'plain', '-a', `site=${site.url}`], root)).code, 0)
    const exported = await crawl(['seen', 'export', 'plain'], root)
    assert.equal(exported.code, 0, exported.stderr)
    assert.match(exported.stdout, /^# orbweaver seen 1 bits=64 seed=[0-9a-f]{16}\n([0-9a-f]{16}\n){4}$/)
    mkdirSync(join(root, 'kept'))
    const toFile = await crawl(['seen', 'export', 'plain', '-o', 'plain.seen'], join(root, 'kept'))
    assert.deepEqual([toFile.code, toFile.stdout, readdirSync(join(root, 'kept'))], [0, '', ['plain.seen']])
    assert.equal(readFileSync(join(root, 'kept/plain.seen'), 'utf8'), exported.stdout)

    const imported = await crawl(['seen', 'import', 'other', 'plain.seen'], join(root, 'kept'))
    assert.equal(imported.code, 0, imported.stderr)
    assert.equal(imported.stdout, '4 fingerprints of orbweaver imported. other takes their requests for met.\nnext  npx crawl run other  begins, and fetches none of them\n')
    assert.match((await crawl(['jobs'], root)).stdout, /^other +prepared +4 known +/m)
    assert.match((await crawl(['jobs', 'clean'], root)).stdout, /^kept +other: it has not begun, and was given fingerprints/m)
    const before = new Map(site.requests)
    assert.equal((await crawl(['run', 'other', '-a', `site=${site.url}`], root)).code, 0)
    assert.deepEqual([...site.requests].filter(([path, count]) => count !== before.get(path)), [['/?begin', 1], ['/extra', 1]])

    renameSync(join(root, 'data/frontier/other.db'), join(root, 'data/frontier/moved.db'))
    const late = await crawl(['seen', 'export', 'other'], root)
    assert.equal(late.code, 2)
    assert.match(late.stderr, /^There is no job of other: it has met nothing\./)
  })

  test("a page of Scrapy's requests.seen is not fetched", async () => {
    const site = await opened(servePages([200, 200]))
    const root = project()
    // What Scrapy makes of a GET: scrapy.utils.request.fingerprint.
    const seen = createHash('sha1').update(`{"body": "", "headers": {}, "method": "GET", "url": "${site.url}1"}`).digest('hex')
    writeFileSync(join(root, 'requests.seen'), `${seen}\n${seen}\n`)
    const imported = await crawl(['seen', 'import', 'plain', 'requests.seen'], root)
    assert.match(imported.stdout, /^1 fingerprint of Scrapy imported; 1 were known or there twice\./)
    const { outcomes } = await json<RunSummary>(['run', 'plain', '-a', `site=${site.url}`], root)
    assert.deepEqual([...site.requests.keys()].sort(), ['/', '/2'])
    assert.deepEqual(outcomes.map(({ state, count }) => [state, count]), [['done', 2]])
  })

  test('a file that is none: one message with the line, exit code 2, and no job', async () => {
    const root = project()
    writeFileSync(join(root, 'bad'), `${'a'.repeat(40)}\nhello\nworld\n`)
    const { code, stderr, stdout } = await crawl(['seen', 'import', 'plain', 'bad'], root)
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^[^\n]*bad has 2 lines that are no fingerprint of 40 hexadecimal digits[^\n]*: line 2 is "hello"\. Nothing was imported\.\n$/)
    assert.equal(existsSync(join(root, 'data/frontier')), false)
  })
})
