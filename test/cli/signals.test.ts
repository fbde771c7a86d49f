import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunSummary } from 'orbweaver'
import { crawl, makeProject, plainSpider, RunningCommand } from './command.ts'
import { serveGallery, type Site } from './site.ts'

const images = 6

describe('signals', () => {
  const closers: (() => void | Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })

  /** A crawl of which all pictures but the first two wait at the site. */
  async function begin(settings = ''): Promise<{ site: Site; command: RunningCommand; root: string; args: string[]; release: () => void }> {
    let release = () => {}
    const site = await serveGallery(images, new Promise((resolve) => (release = resolve)))
    const project = makeProject({ 'spiders/plain.ts': plainSpider, ...(settings === '' ? {} : { 'settings.ts': settings }) })
    closers.push(() => project.remove(), () => site.close())
    const args = ['run', 'plain', '-a', `site=${site.url}`, '-s', 'slot.concurrency=8']
    const command = new RunningCommand(args, project.root)
    await command.says('begins a new run')
    while (!site.requests.has(`/${images - 1}.png`)) await delay(20)
    return { site, command, root: project.root, args, release }
  }

  /** The same command goes on, or begins anew when nothing was left, and in the end every picture is there. */
  async function finish(args: readonly string[], root: string, resumed = true): Promise<void> {
    const { code, stdout, stderr } = await crawl([...args, '--json'], root)
    assert.equal(code, 0, stderr)
    const summary = JSON.parse(stdout) as RunSummary
    assert.equal(summary.resumed, resumed)
    assert.deepEqual(summary.images.map(({ status, count }) => [status, count]), [['downloaded', images]])
  }

  for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGHUP', 129]] as const) {
    test(`${signal}: what is in progress ends, then exit code ${code}, and the same command goes on`, async () => {
      const { site, command, root, args, release } = await begin()
      // npx passes on what the terminal has already sent to all of its processes.
      command.child.kill(signal)
      command.child.kill(signal)
      await command.says(`${signal}: stopping. What is in progress may end within 15 s; once more ends it at once. To go on later: npx crawl run plain`)
      release()
      const ended = await command.ended()
      assert.equal(ended.code, code)
      assert.match(ended.stderr, /^plain stopped after /m)
      assert.doesNotMatch(ended.stderr, /ending at once/)
      await finish(args, root, false)
      for (let number = 0; number < images; number++) assert.equal(site.requests.get(`/${number}.png`), 1)
    })
  }

  test('a second signal ends at once; what was in progress is done by the next run', async () => {
    const { command, root, args, release } = await begin()
    command.child.kill('SIGINT')
    await command.says('stopping')
    await delay(250)
    command.child.kill('SIGINT')
    const { code, stderr } = await command.ended()
    assert.equal(code, 130)
    assert.match(stderr, /SIGINT: ending at once\. What is in progress goes back to the queue\./)
    release()
    await finish(args, root)
  })

  test('a third signal exits though something does not end', async () => {
    const { command, root } = await begin(`import { defineSettings, type DownloaderMiddleware } from 'orbweaver'
import { downloaderMiddlewares, spiderMiddlewares } from 'orbweaver/middlewares'
import { pipelines } from 'orbweaver/pipelines'

const stuck: DownloaderMiddleware = ({ onClose }) => {
  onClose(() => new Promise((resolve) => setTimeout(resolve, 1e9)))
  return (request, next) => next(request)
}
export default defineSettings({
  network: { allowPrivate: true }, slot: { delayMs: 0 }, robots: { obey: false },
  downloaderMiddlewares: [stuck, ...downloaderMiddlewares], spiderMiddlewares, pipelines,
})
`)
    for (const said of ['stopping', 'ending at once']) {
      command.child.kill('SIGTERM')
      await command.says(said)
      await delay(250)
    }
    command.child.kill('SIGTERM')
    assert.equal((await command.ended()).code, 143)
    assert.ok(existsSync(join(root, 'data/crawl.db')))
  })

  test('a terminal that goes away does not keep a crawl from ending in order', async () => {
    const { command, root, args, release } = await begin()
    command.child.stderr.destroy()
    command.child.stdout.destroy()
    command.child.kill('SIGHUP')
    release()
    const [code] = (await once(command.child, 'exit')) as [number]
    assert.equal(code, 129)
    await finish(args, root, false)
  })
})
