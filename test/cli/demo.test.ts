import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { RunSummary } from 'orbweaver'
import { crawl, RunningCommand } from './command.ts'
import { serve } from './site.ts'

describe('crawl demo, in an empty folder', () => {
  let folder: string
  let port: string
  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'orbweaver-cli-')))
    const free = await serve(() => {})
    port = new URL(free.url).port
    await free.close()
  })
  after(() => rmSync(folder, { recursive: true }))

  test('crawls the site, shows what came of it, and downloads nothing a second time', async () => {
    // Neither a database nor settings of the folder's owner are touched.
    const environment = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:9/none', CRAWL_LIMITS_IMAGES: '1' }
    const first = await crawl(['demo', '--port', port, '--json'], folder, environment)
    assert.equal(first.code, 0, first.stderr)
    const summary = JSON.parse(first.stdout) as RunSummary
    assert.equal(summary.reason, 'finished')
    assert.ok((summary.images.find(({ status }) => status === 'downloaded')?.count ?? 0) > 100)
    assert.equal(summary.database, join(folder, 'data/demo/crawl.db'))

    const second = await crawl(['demo', '--port', port], folder, environment)
    assert.equal(second.code, 0, second.stderr)
    assert.match(second.stderr, /^0 images downloaded: all \d+ are known since the run of \d{4}-\d\d-\d\d \d\d:\d\d\.$/m)
    assert.match(second.stderr, /^files +data\/demo\/images\ndatabase +data\/demo\/crawl\.db\nnext +npx crawl status /m)

    const status = await crawl(['status'], folder)
    assert.equal(status.code, 0, status.stderr)
    assert.match(status.stdout, new RegExp(`^demo-${port} {2}finished `))
  })

  test('a port that is taken: one message and exit code 2; --fresh has removed the data of demos and nothing else', async () => {
    const taken = await serve(() => {})
    try {
      mkdirSync(join(folder, 'data/demo/frontier'), { recursive: true })
      writeFileSync(join(folder, 'data/demo/frontier/demo.db'), '')
      writeFileSync(join(folder, 'data/demo/mine.txt'), 'mine')
      const { code, stderr } = await crawl(['demo', '--fresh', '--port', new URL(taken.url).port], folder)
      assert.equal(code, 2)
      assert.match(stderr, /^The demo site can't listen on [^\n]*the port is taken[^\n]*\n$/)
      assert.ok(!existsSync(join(folder, 'data/demo/frontier')))
      assert.ok(existsSync(join(folder, 'data/demo/mine.txt')))
    } finally {
      await taken.close()
    }
  })

  test('--serve serves until a signal and says how to crawl it', async () => {
    const command = new RunningCommand(['demo', '--serve', '--port', '0'], folder)
    await command.says('run gallery -a site=')
    const [, url = ''] = /-a site=(\S+) -s network\.allowPrivate=true/.exec(command.stderr) ?? []
    assert.equal((await fetch(url)).status, 200)
    command.child.kill('SIGINT')
    const { code, stdout } = await command.ended()
    assert.deepEqual([code, stdout], [0, `${url}\n`])
    await assert.rejects(fetch(url))
  })
})
