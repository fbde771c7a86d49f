import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export const bin = join(import.meta.dirname, '../../framework/cli/bin.cjs')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A command that has not ended by then is killed, and its test fails. */
const maxMs = 90_000

/** A command that runs, with what it has written so far. */
export class RunningCommand {
  readonly child: ChildProcessWithoutNullStreams
  #stdout = ''
  #stderr = ''

  constructor(args: readonly string[], cwd: string, environment: Readonly<Record<string, string>> = {}) {
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(CRAWL_|DATABASE_URL|NODE_OPTIONS|FORCE_COLOR|npm_)/.test(name)))
    this.child = spawn(process.execPath, [bin, ...args], { cwd, env: { ...inherited, ...environment } })
    this.child.stdin.end()
    const timer = setTimeout(() => this.child.kill('SIGKILL'), maxMs)
    this.child.once('close', () => clearTimeout(timer))
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#stdout += text))
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text))
  }

  get stderr(): string {
    return this.#stderr
  }

  /** Waits until it has written `text` to standard error. */
  async says(text: string): Promise<void> {
    while (!this.#stderr.includes(text)) {
      if (this.child.exitCode !== null) throw new Error(`ended without saying "${text}": ${this.#stderr}`)
      await Promise.race([once(this.child.stderr, 'data'), once(this.child, 'close')])
    }
  }

  async ended(): Promise<Ended> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'close')
    return { code: this.child.exitCode, stdout: this.#stdout, stderr: this.#stderr }
  }
}

/** Runs `crawl` to its end. */
export function crawl(args: readonly string[], cwd: string, environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new RunningCommand(args, cwd, environment).ended()
}

const settings = `import { defineSettings } from 'orbweaver'
import { downloaderMiddlewares, spiderMiddlewares } from 'orbweaver/middlewares'
import { pipelines } from 'orbweaver/pipelines'

export default defineSettings({
  network: { allowPrivate: true }, slot: { delayMs: 0, concurrency: 4 }, autothrottle: { enabled: false }, robots: { obey: false }, retry: { attempts: 0 },
  downloaderMiddlewares, spiderMiddlewares, pipelines,
})
`

/** Follows everything and harvests everything. */
export const plainSpider = `import { Spider, type PageResponse, type Results } from 'orbweaver'

export default class Plain extends Spider {
  startUrls: string[] = [this.args.site ?? 'http://127.0.0.1:9/']

  async *parse(page: PageResponse): Results {
    yield* page.images()
    for (const url of page.links()) yield page.follow(url)
  }
}
`

/** A folder with settings.ts and the files given, by their paths; outside of any package. */
export function makeProject(files: Readonly<Record<string, string>> = {}): { readonly root: string; remove(): void } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'orbweaver-cli-')))
  for (const [path, text] of Object.entries({ 'settings.ts': settings, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) }
}
