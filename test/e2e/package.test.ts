import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { serve, type TestServer } from '../downloader/server.ts'
import { picture } from '../engine/crawl-site.ts'
import { readFiles, readRows } from './harvest.ts'

const root = join(import.meta.dirname, '../..')

interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

function execute(command: string, args: readonly string[], cwd: string): Promise<Ended> {
  const child = spawn(command, args, { cwd, env: { ...process.env, DATABASE_URL: '' } })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => child.on('error', reject).on('close', (status) => resolve({ status, stdout, stderr })))
}

describe('the package, installed in a project of its own', () => {
  let folder: string
  let server: TestServer

  /** The tarball unpacked where npm would put it, beside the dependencies that npm would have installed. */
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'orbweaver-package-'))
    const packed = await execute('npm', ['pack', '--pack-destination', folder, '--silent'], root)
    assert.equal(packed.status, 0, packed.stderr)
    const modules = join(folder, 'node_modules')
    for (const name of readdirSync(join(root, 'node_modules'))) {
      const names = name.startsWith('@') ? readdirSync(join(root, 'node_modules', name)).map((inner) => join(name, inner)) : [name]
      for (const each of names) {
        mkdirSync(dirname(join(modules, each)), { recursive: true })
        symlinkSync(join(root, 'node_modules', each), join(modules, each))
      }
    }
    mkdirSync(join(modules, 'orbweaver'))
    const unpacked = await execute('tar', ['-xzf', packed.stdout.trim().split('\n').at(-1) ?? '', '-C', join(modules, 'orbweaver'), '--strip-components=1'], folder)
    assert.equal(unpacked.status, 0, unpacked.stderr)
    mkdirSync(join(folder, 'spiders'))
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { module: 'nodenext', target: 'es2023', lib: ['es2023'], types: ['node'], strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true } }))
    writeFileSync(
      join(folder, 'settings.ts'),
      `import { defineSettings, DropItem, type Pipeline } from 'orbweaver'
import { downloaderMiddlewares, spiderMiddlewares } from 'orbweaver/middlewares'
import { pipelines } from 'orbweaver/pipelines'

const onlyWide: Pipeline = () => async function onlyWide(item, next) {
  if (item.image.width < 300) throw new DropItem('narrow')
  return next(item)
}

export default defineSettings({ network: { allowPrivate: true }, slot: { delayMs: 0 }, downloaderMiddlewares, spiderMiddlewares, pipelines: [onlyWide, ...pipelines] })
`,
    )
    writeFileSync(
      join(folder, 'spiders', 'shop.ts'),
      `import { Spider, type PageResponse, type Results } from 'orbweaver'

export default class Shop extends Spider<{ title: string }> {
  override startUrls = [this.args['site'] ?? 'https://shop.example/']

  async *parse(page: PageResponse): Results<{ title: string }> {
    yield* page.images({ title: page.$('h1').text() })
  }
}
`,
    )
    const [wide, narrow] = [await picture(1), await picture(2, { width: 200, height: 200 })]
    server = await serve((request, response) => {
      if (request.url === '/') response.end('<h1>Shop</h1><img src="/wide.jpg"><img src="/narrow.jpg">')
      else response.writeHead(request.url?.endsWith('.jpg') ? 200 : 404).end(request.url === '/wide.jpg' ? wide : narrow)
    })
  })
  after(async () => {
    await server.close()
    rmSync(folder, { recursive: true })
  })

  const crawl = (...args: string[]) => execute(process.execPath, [join(folder, 'node_modules/orbweaver/framework/cli/bin.cjs'), ...args], folder)

  test('its command runs a spider and parts written in TypeScript, without a build step', async () => {
    const { status, stdout, stderr } = await crawl('run', 'shop', '-a', `site=${server.url}/`, '--json')
    assert.equal(status, 0, stderr)
    const summary = JSON.parse(stdout) as { reason: string }
    assert.equal(summary.reason, 'finished')
    const rows = readRows(join(folder, 'data'))
    assert.deepEqual(rows.map(({ url, status: state, reason }) => [new URL(url).pathname, state, reason]).sort(), [['/narrow.jpg', 'dropped', 'narrow'], ['/wide.jpg', 'downloaded', null]])
    assert.equal(readFiles(join(folder, 'data')).length, 1)
  })

  test('its types are found by the project’s own compiler', async () => {
    const { status, stdout } = await execute(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.'], folder)
    assert.equal(status, 0, stdout)
  })

  test('a built-in part copied into the project compiles unchanged', async () => {
    const copied = await execute('cp', [join(root, 'middlewares/retry.ts'), join(root, 'pipelines/filter.ts'), folder], folder)
    assert.equal(copied.status, 0, copied.stderr)
    const { status, stdout } = await execute(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.'], folder)
    assert.equal(status, 0, stdout)
  })

  test('it lists the project’s spiders', async () => {
    const { status, stdout } = await crawl('list')
    assert.equal(status, 0)
    assert.match(stdout, /shop/)
  })
})
