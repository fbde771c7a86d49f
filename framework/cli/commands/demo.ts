import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSite, type SiteProcess } from '../../demo/process.ts'
import { SettingsError } from '../../errors.ts'
import { inspectFrontier } from '../../frontier/inspect.ts'
import { runningProcess } from '../../frontier/lock.ts'
import { commandLine } from '../command-line.ts'
import { crawlInTerminal, type OutputOptions } from '../crawl-in-terminal.ts'
import { demoCommand, demoFolder, demoName, demoSettings, demoSpider, findOwnProject, listDemos } from '../demo-project.ts'
import { exitCode } from '../exit-code.ts'
import { findSpider, loadProject, loadSpider } from '../project.ts'
import { shortPath } from '../report.ts'
import { Shutdown } from '../shutdown.ts'

export interface DemoCommandOptions extends OutputOptions {
  readonly port: string
  readonly fresh?: boolean
  readonly serve?: boolean
}

/** `crawl demo` */
export async function runDemo(options: DemoCommandOptions): Promise<number> {
  const port = Number(options.port)
  if (!/^\d+$/.test(options.port) || port > 65_535) throw new SettingsError(`--port needs a number up to 65535, or 0 for any free one, not "${options.port}".`)
  if (options.serve === true) return serve(port)
  const folder = demoFolder()
  if (options.fresh === true) removeData(folder)
  const site = await spawnSite({ port })
  try {
    return await crawlSite(site, folder, options)
  } finally {
    await site.close()
  }
}

async function crawlSite(site: SiteProcess, folder: string, options: DemoCommandOptions): Promise<number> {
  const root = findOwnProject()
  const name = demoName(new URL(site.url).port)
  const previous = inspectFrontier(frontierPath(folder, name))
  const again = demoCommand(name)
  const code = await crawlInTerminal({
    crawl: {
      name,
      spider: await loadSpider(root, findSpider(root, demoSpider)),
      project: await loadProject(root),
      args: { site: site.url },
      settings: demoSettings(folder),
      environment: {},
      overrides: options.quiet === true ? { 'log.level': 'error' } : options.verbose === true ? { 'log.level': 'debug' } : {},
    },
    output: options,
    resume: again,
    stopping: site.crashed,
    announce: ({ resumed }) => `demo: ${resumed ? 'goes on with' : 'crawls'} ${site.url}, a site in this package, with the spider ${shortPath(join(root, 'spiders', `${demoSpider}.ts`))} · data in ${shortPath(folder)}`,
    next: ({ reason }) => [
      [commandLine('status'), 'what has been kept, and why the rest has not'],
      [again, reason === 'finished' ? 'once more: nothing is downloaded twice' : 'goes on where it stopped'],
      ['spiders/<site>.ts', `write one like the demo's, then: ${commandLine('run')} <site>`],
    ],
    previousRunAt: previous?.endedAt ?? previous?.writtenAt,
  })
  site.crashed.throwIfAborted()
  return code
}

/** Serves the site until a signal. */
async function serve(port: number): Promise<number> {
  const site = await spawnSite({ port })
  const { stderr } = process
  const crawl = commandLine('run', demoSpider, '-a', `site=${site.url}`, '-s', 'network.allowPrivate=true')
  process.stdout.write(`${site.url}\n`)
  stderr.write(`The demo site is served until Ctrl-C. To crawl it, in another terminal:\n  ${crawl}\n`)
  const shutdown = new Shutdown({ announceStop: (signal) => void stderr.write(`${signal}: the demo site is closed.\n`) })
  try {
    await new Promise((resolve) => {
      shutdown.stopping.addEventListener('abort', resolve, { once: true })
      site.crashed.addEventListener('abort', resolve, { once: true })
    })
    site.crashed.throwIfAborted()
    return exitCode.done
  } finally {
    await site.close()
    shutdown.close()
  }
}

/** Removes what demos have left, and nothing else. */
function removeData(folder: string): void {
  const names = listDemos(folder)
  for (const name of names) {
    const running = runningProcess(frontierPath(folder, name))
    if (running !== undefined) throw new SettingsError(`A demo is running here (process ${running}). Stop it first.`)
  }
  if (names.length === 0) return
  for (const name of ['frontier', 'images', 'crawl.db', 'crawl.db-wal', 'crawl.db-shm']) rmSync(join(folder, name), { recursive: true, force: true })
}

function frontierPath(folder: string, name: string): string {
  return join(folder, 'frontier', `${name}.db`)
}
