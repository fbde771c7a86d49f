import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { version } from 'orbweaver'
import { crawl } from './command.ts'

const root = join(import.meta.dirname, '../..')

test('help and version need nothing but yargs: neither what runs TypeScript nor the framework is loaded', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orbweaver-cli-'))
  try {
    mkdirSync(join(folder, 'framework'))
    mkdirSync(join(folder, 'node_modules'))
    cpSync(join(root, 'framework/cli'), join(folder, 'framework/cli'), { recursive: true })
    cpSync(join(root, 'package.json'), join(folder, 'package.json'))
    writeFileSync(join(folder, 'framework/index.ts'), '')
    symlinkSync(join(root, 'node_modules/yargs'), join(folder, 'node_modules/yargs'))
    const run = (...args: string[]) => promisify(execFile)(process.execPath, [join(folder, 'framework/cli/bin.cjs'), ...args], { cwd: folder })
    assert.match((await run('--help')).stdout, /crawl run <spider>[^]*crawl demo/)
    assert.match((await run('run', '--help')).stdout, /--fresh[^]*Exit codes: 0 done/)
    assert.equal((await run('--version')).stdout, `${version}\n`)
    await assert.rejects(run('list'), /Cannot find package 'tsx'/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const wrong: readonly (readonly [args: string[], message: RegExp])[] = [
  [['runn', 'gallery'], /^Did you mean run\?\n/],
  [['run'], /^Which spider\? `crawl list` shows them\.\nSee crawl run --help\.\n$/],
  [['run', 'gallery', '--limt', '3'], /^Unknown argument: limt\nSee crawl run --help\.\n$/],
  [['run', 'gallery', '--limit'], /^Not enough arguments following: limit\n/],
  [['run', 'gallery', '--limit', 'ten'], /^--limit needs a whole number from 1, not "ten"\.\n$/],
  [['run', 'gallery', '-a', 'site'], /^-a needs name=value, not "site"\.\n$/],
  [['run', 'gallery', '-s', 'slot.delay=3'], /^There is no setting "slot\.delay" \(command line\)\. Did you mean "slot\.delayMs"\?\n$/],
  [['jobs', 'list'], /^Unknown argument: list\nSee crawl jobs --help\.\n$/],
  [['jobs', 'retry'], /^Which spider\? `crawl list` shows them\.\nSee crawl jobs retry --help\.\n$/],
  [['seen'], /^export or import\?\nSee crawl seen --help\.\n$/],
  [['seen', 'import', 'gallery'], /^Which file\? One that `crawl seen export` or Scrapy has written\.\nSee crawl seen import --help\.\n$/],
  [['demo', '--port', '70000'], /^--port needs a number up to 65535/],
  [[], /^crawl <command>\n/],
]

for (const [args, message] of wrong) {
  test(`crawl ${args.join(' ')}: one message, exit code 2, nothing on standard output`, async () => {
    const { code, stdout, stderr } = await crawl(args, root)
    assert.match(stderr, message)
    assert.equal(stdout, '')
    assert.equal(code, 2)
  })
}
