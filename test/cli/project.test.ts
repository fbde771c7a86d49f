import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { bin, crawl, makeProject, plainSpider } from './command.ts'

describe('a project with good and broken spiders', () => {
  let project: ReturnType<typeof makeProject>
  before(() => {
    project = makeProject({
      'spiders/cats.ts': plainSpider,
      'spiders/dogs.js': "import { Spider } from 'orbweaver'\nexport default class extends Spider { startUrls = ['https://dogs.example/', 'https://dogs.example/2']; async *parse() {} }\n",
      'spiders/_shared.ts': 'export const shared = 1\n',
      'spiders/syntax.ts': "import { Spider } from 'orbweaver'\n\nexport default class Syntax extends Spider { async *parse( {} }\n",
      'spiders/nothing.ts': 'export const x = 1\n',
      'spiders/number.ts': 'export default class { fetch() {} }\n',
      'spiders/thrower.ts': 'interface A { a: string }\n\nconst nothing = undefined as unknown as A\nexport default nothing.a\n',
      'spiders/missing.ts': "import { x } from './nowhere.ts'\nimport { Spider } from 'orbweaver'\nexport default class extends Spider { async *parse() { x } }\n",
      'sub/folder/.keep': '',
    })
  })
  after(() => project.remove())

  test('list shows every spider, and of broken ones what is wrong with them', async () => {
    const { code, stdout } = await crawl(['list', '--json'], project.root)
    assert.equal(code, 0)
    const spiders = JSON.parse(stdout) as { name: string; file: string; startUrls: string[]; error?: string }[]
    const errors = Object.fromEntries(spiders.map(({ name, error }) => [name, error]))
    assert.deepEqual(Object.keys(errors), ['cats', 'dogs', 'missing', 'nothing', 'number', 'syntax', 'thrower'])
    assert.deepEqual(spiders[1], { name: 'dogs', file: 'spiders/dogs.js', startUrls: ['https://dogs.example/', 'https://dogs.example/2'] })
    assert.equal(errors['cats'], undefined)
    assert.match(errors['missing'] ?? '', /there is no file spiders\/nowhere\.ts \(imported by spiders\/missing\.ts\)/)
    assert.match(errors['nothing'] ?? '', /^spiders\/nothing\.ts has no default export\. It must say: export default class Nothing extends Spider/)
    assert.match(errors['number'] ?? '', /^The default export of spiders\/number\.ts is no spider/)
    assert.match(errors['syntax'] ?? '', /^spiders\/syntax\.ts:3:\d+: Expected/)
    assert.match(errors['thrower'] ?? '', /^spiders\/thrower\.ts:4:\d+: an error was thrown while the file was loaded: TypeError: Cannot read properties of undefined/)
  })

  test('an unknown spider: the nearest name and all names, exit code 2, no stack', async () => {
    const { code, stderr } = await crawl(['run', 'cat'], project.root)
    assert.equal(code, 2)
    assert.equal(stderr, 'There is no spider "cat". Did you mean "cats"? This project has: cats, dogs, missing, nothing, number, syntax, thrower.\n')
  })

  test('a spider that throws when it is loaded: one line with file and line; the stack with -v', async () => {
    const plain = await crawl(['run', 'thrower'], project.root)
    assert.equal(plain.code, 2)
    assert.match(plain.stderr, /^spiders\/thrower\.ts:4:\d+: [^\n]*\n$/)
    const verbose = await crawl(['run', 'thrower', '-v'], project.root)
    assert.match(verbose.stderr, /Caused by: TypeError[^]*thrower\.ts:4/)
  })

  test('the project is found from a folder inside it, and by --project', async () => {
    for (const [cwd, args] of [[join(project.root, 'sub/folder'), []], ['/', ['--project', project.root]]] as const) {
      const { code, stdout } = await crawl(['list', ...args], cwd)
      assert.equal(code, 0)
      assert.match(stdout, /^cats +spiders\/cats\.ts +http:\/\/127\.0\.0\.1:9\/$/m)
    }
  })

  test('outside of a project: one message that says what to do', async () => {
    const { code, stderr } = await crawl(['list'], '/')
    assert.equal(code, 2)
    assert.match(stderr, /^This is no project: there is no settings\.ts in \/ or above it\.[^\n]*--project[^\n]*\n$/)
  })

  test('settings: where each value comes from, and no password', async () => {
    const run = await crawl(['settings', '--json'], join(project.root, 'sub'), { CRAWL_PAGES_MAX_DEPTH: '3', DATABASE_URL: 'postgresql://me:se/cr@et@db.example/pictures?sslmode=require' })
    const settings = new Map((JSON.parse(run.stdout) as { path: string }[]).map((setting) => [setting.path, setting]))
    assert.deepEqual(settings.get('slot.delayMs'), {
      path: 'slot.delayMs', value: 0, origin: 'settings.ts', default: 500, description: 'Between the starts of two requests to one host.', variable: 'CRAWL_SLOT_DELAY_MS',
    })
    assert.deepEqual(valueAndOrigin(settings.get('pages.maxDepth')), [3, 'CRAWL_PAGES_MAX_DEPTH'])
    assert.deepEqual(valueAndOrigin(settings.get('concurrency')), [32, 'default'])
    assert.deepEqual(valueAndOrigin(settings.get('database')), ['postgresql://me:***@db.example/pictures?sslmode=require', 'DATABASE_URL'])
    assert.doesNotMatch(run.stdout, /se\/cr/)

    const one = await crawl(['settings', 'slot.jitter', '-s', 'slot.jitter=0.5'], project.root)
    assert.match(one.stdout, /^slot\.jitter\n[^]*value +0\.5\n +origin +command line\n +default +0\.25\n +variable +CRAWL_SLOT_JITTER\n$/)
    const unknown = await crawl(['settings', 'slots'], project.root)
    assert.deepEqual([unknown.code, unknown.stderr], [2, 'There is no setting "slots". Did you mean "slot"?\n'])
  })
})

function valueAndOrigin(setting: object | undefined): unknown[] {
  const { value, origin } = setting as { value: unknown; origin: string }
  return [value, origin]
}

test('a project that has an orbweaver of its own is handed over to it', async () => {
  const project = makeProject()
  try {
    const own = join(project.root, 'node_modules/orbweaver')
    mkdirSync(own, { recursive: true })
    writeFileSync(join(own, 'package.json'), JSON.stringify({ name: 'orbweaver', version: '9.9.9', type: 'module', bin: { crawl: 'crawl.js' } }))
    writeFileSync(join(own, 'crawl.js'), 'console.log(`own copy: ${process.argv.slice(2)}`)\n')
    assert.equal((await crawl(['list', '--json'], project.root)).stdout, 'own copy: list,--json\n')
    assert.equal((await crawl(['list', '--project', project.root], '/')).stdout, `own copy: list,--project,${project.root}\n`)
    rmSync(own, { recursive: true })
    symlinkSync(join(bin, '../../..'), own)
    assert.equal((await crawl(['list', '--json'], project.root)).stdout, '[]\n')
  } finally {
    project.remove()
  }
})

test('whoever reads the output may go: no crash, no stack', async () => {
  const project = makeProject({ 'spiders/cats.ts': plainSpider })
  try {
    const script = join(project.root, 'pipe.sh')
    writeFileSync(script, `set -o pipefail\n"${process.execPath}" "${bin}" settings | true\n`)
    chmodSync(script, 0o755)
    const ended = await new Promise<{ code: number | string; stderr: string }>((resolve) => {
      execFile('bash', [script], { cwd: project.root }, (error, _stdout, stderr) => resolve({ code: error?.code ?? 0, stderr }))
    })
    assert.deepEqual(ended, { code: 0, stderr: '' })
  } finally {
    project.remove()
  }
})
