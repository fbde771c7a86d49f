import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'libsql'
import type { RunSummary } from 'orbweaver'
import { crawl, makeProject, plainSpider, RunningCommand } from '../cli/command.ts'
import { serve } from '../cli/site.ts'
import { picture } from '../engine/crawl-site.ts'
import { checkHarvest, type Harvest } from './crash/harvest.ts'
import { planCrashSite, serveCrashSite, type CrashSite } from './crash/site.ts'
import { readRows } from './harvest.ts'

describe('a crawl that was interrupted', () => {
  const closers: (() => void | Promise<void>)[] = []
  let plan: Awaited<ReturnType<typeof planCrashSite>>
  let undisturbed: Harvest

  before(async () => {
    plan = await planCrashSite({ pages: 80, images: 40 })
    const { site, root, args } = await open()
    undisturbed = await finish(site, root, args, false)
    await close()
  })
  afterEach(close)
  after(close)

  async function close(): Promise<void> {
    for (const one of closers.splice(0).reverse()) await one()
  }

  async function open(spider = plainSpider): Promise<{ site: CrashSite; root: string; args: string[] }> {
    const site = await serveCrashSite(plan)
    const project = makeProject({ 'spiders/plain.ts': spider })
    closers.push(() => project.remove(), () => site.close())
    const args = ['run', 'plain', '-a', `site=${site.url}`]
    for (const setting of ['robots.obey=true', 'retry.attempts=2', 'retry.backoffMs=20', 'slot.concurrency=16']) args.push('-s', setting)
    return { site, root: project.root, args }
  }

  /** The same command lets it end; answers what has come of it. */
  async function finish(site: CrashSite, root: string, args: readonly string[], resumed = true): Promise<Harvest> {
    const { code, stdout, stderr } = await crawl([...args, '--json'], root)
    assert.equal(code, 0, stderr)
    const summary = JSON.parse(stdout) as RunSummary
    assert.equal(summary.resumed, resumed)
    assert.equal(summary.left.pending, 0)
    return checkHarvest(site, join(root, 'data'), summary.outcomes)
  }

  test('by SIGTERM goes on with another number of requests at once', async () => {
    const { site, root, args } = await open()
    const command = new RunningCommand([...args, '-s', 'concurrency=2'], root)
    await site.reach(120)
    command.child.kill('SIGTERM')
    const { code, stderr } = await command.ended()
    assert.equal(code, 143, stderr)
    assert.equal(site.isAllAsked(), false)
    assert.deepEqual(await finish(site, root, [...args, '-s', 'concurrency=24']), undisturbed)
  })

  test('by a second Ctrl-C goes on with what was in progress', async () => {
    const { site, root, args } = await open()
    const command = new RunningCommand(args, root)
    await site.reach(120)
    const release = site.hold()
    await site.reach(site.steps + 1)
    command.child.kill('SIGINT')
    await command.says('SIGINT: stopping')
    // What follows sooner is taken for the same signal.
    await delay(250)
    command.child.kill('SIGINT')
    const { code, stderr } = await command.ended()
    assert.equal(code, 130, stderr)
    assert.match(stderr, /ending at once/)
    release()
    assert.deepEqual(await finish(site, root, args), undisturbed)
  })

  test('by the end of its memory goes on where it was', async () => {
    const hoard = "for (const hoard: object[][] = []; this.args.hoard === 'yes' && page.url.endsWith('/p/9'); ) hoard.push(Array.from({ length: 10_000 }, () => ({})))"
    const hoarding = plainSpider.replace('yield* page.images()', `${hoard}\n    yield* page.images()`)
    const { site, root, args } = await open(hoarding)
    const died = await crawl([...args, '-a', 'hoard=yes'], root, { NODE_OPTIONS: '--max-old-space-size=96' })
    assert.notEqual(died.code, 0)
    assert.match(died.stderr, /JavaScript heap out of memory/)
    assert.equal(site.isAllAsked(), false)
    assert.deepEqual(await finish(site, root, args), undisturbed)
  })

  test('between the row of a refused image and its settlement fetches its fallback, and counts it as what it was', async () => {
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const fallback = await picture(1)
    const site = await serve(({ url = '' }, response) => {
      if (url === '/') response.setHeader('content-type', 'text/html').end('<img src="/fallback.jpg" srcset="/large.jpg 2x">')
      else if (url === '/fallback.jpg') response.end(fallback)
      else void released.then(() => response.writeHead(404).end())
    })
    const project = makeProject({ 'spiders/plain.ts': plainSpider })
    closers.push(() => project.remove(), () => site.close())
    const args = ['run', 'plain', '-a', `site=${site.url}`]
    const command = new RunningCommand(args, project.root)
    while (!site.requests.has('/large.jpg')) await delay(20)
    // While somebody else writes to the frontier nothing can be settled.
    const frontier = new Database(join(project.root, 'data/frontier/plain.db'))
    frontier.exec('begin immediate')
    release()
    const statuses = () => readRows(join(project.root, 'data')).map(({ status }) => status).sort()
    while (!statuses().includes('failed') && command.child.signalCode === null) await delay(20)
    command.child.kill('SIGKILL')
    await command.ended()
    frontier.exec('rollback')
    frontier.close()
    const { code, stdout, stderr } = await crawl([...args, '--json'], project.root)
    assert.equal(code, 0, stderr)
    assert.deepEqual(statuses(), ['downloaded', 'failed'])
    const outcomes = (JSON.parse(stdout) as RunSummary).outcomes.filter(({ kind }) => kind === 'image').map(({ state, reason, count }) => `${state} ${reason}: ${count}`)
    assert.deepEqual(outcomes.sort(), ['done : 1', 'ignored http 404: 1'])
  })

  test('and whose callback was renamed since fails the requests that name it, and does the rest', async () => {
    const named = plainSpider
      .replace('yield page.follow(url)', "yield page.follow(url, url.includes('/p/6') ? this.sixth : undefined)")
      .replace(/}\n$/, '\n  async *sixth(page: PageResponse): Results {\n    yield* this.parse(page)\n  }\n}\n')
    const { site, root, args } = await open(named)
    const stopped = await crawl([...args, '-s', 'limits.pages=3', '-s', 'concurrency=1'], root)
    assert.equal(stopped.code, 4, stopped.stderr)
    writeFileSync(join(root, 'spiders/plain.ts'), named.replaceAll('sixth', 'seventh'))
    const { code, stdout, stderr } = await crawl([...args, '--json'], root)
    assert.equal(code, 0, stderr)
    const summary = JSON.parse(stdout) as RunSummary
    assert.match(stderr, /page failed: The spider has no method "sixth" for \S+\/p\/6\. It may have been renamed since the request was stored\./)
    const unknown = summary.outcomes.filter(({ reason }) => reason === 'unknown callback')
    assert.deepEqual(unknown, [{ kind: 'page', state: 'failed', reason: 'unknown callback', count: 1 }])
    assert.equal(summary.left.pending, 0)
    // A request that has failed is known to its run, so the next one asks for it.
    assert.deepEqual((await finish(site, root, args, false)).images, undisturbed.images)
  })
})
