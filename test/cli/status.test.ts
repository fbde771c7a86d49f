import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { SpiderStatus } from '../../framework/cli/spider-status.ts'
import { crawl, makeProject, plainSpider, RunningCommand } from './command.ts'
import { serveGallery } from './site.ts'

test('status tells what a spider has harvested and what is left, before, while and after it runs, and changes nothing', async () => {
  let release = () => {}
  const site = await serveGallery(5, new Promise((resolve) => (release = resolve)))
  const project = makeProject({ 'spiders/plain.ts': plainSpider, 'spiders/broken.ts': 'export const x = 1\n' })
  const { root } = project
  const ask = async () => {
    const { code, stdout, stderr } = await crawl(['status', 'plain', '--json'], root)
    assert.equal(code, 0, stderr)
    return (JSON.parse(stdout) as SpiderStatus[])[0] as SpiderStatus
  }
  try {
    assert.equal((await ask()).state, 'never run')

    const args = ['run', 'plain', '-a', `site=${site.url}`, '-s', 'slot.concurrency=8']
    const command = new RunningCommand(args, root)
    await command.says('begins')
    while (!site.requests.has('/4.png')) await delay(20)
    const running = await ask()
    assert.equal(running.state, 'running')
    assert.equal(running.frontier?.process, command.child.pid)
    assert.equal(running.images.reduce((sum, { count }) => sum + count, 0), 5)
    command.child.kill('SIGKILL')
    await command.ended()

    const killed = await ask()
    assert.equal(killed.state, 'stopped', 'the number of a killed process is no sign of life')
    assert.ok((killed.frontier?.pending ?? 0) >= 3)
    assert.match(killed.command, /^npx crawl run plain -a site=http:\/\/127\.0\.0\.1:\d+\/$/)
    release()
    assert.equal((await crawl(args, root)).code, 0)

    const files = ['data/frontier/plain.db', 'data/crawl.db'].map((path) => join(root, path))
    const before = files.map(hashFile)
    const finished = await ask()
    assert.deepEqual(files.map(hashFile), before)
    assert.deepEqual([finished.state, finished.frontier?.pending, finished.images.map(({ status, count }) => [status, count])], ['finished', 0, [['downloaded', 5]]])
    assert.equal(finished.files, join(root, 'data/images'))

    const all = await crawl(['status'], root)
    assert.equal(all.code, 0)
    assert.match(all.stdout, /^broken {2}never run\n +problem +spiders\/broken\.ts has no default export[^]*^plain {2}finished \d{4}-[^]*5 downloaded \([^]*next +npx crawl run plain/m)
  } finally {
    await site.close()
    project.remove()
  }
})

const hashFile = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex')
