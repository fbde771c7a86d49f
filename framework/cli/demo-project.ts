import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SettingsInput } from '../settings/schema.ts'
import { commandLine } from './command-line.ts'
import { holdsSettings } from './project.ts'

/** The port of the demo site unless another one is asked for. */
const demoPort = '7447'

/** The name under which a demo's run and rows are kept: on another port it has other URLs, and is another site. */
export function demoName(port: string): string {
  return port === demoPort ? 'demo' : `demo-${port}`
}

/** The command that runs a demo again. */
export function demoCommand(name: string): string {
  return commandLine('demo', ...(name === 'demo' ? [] : ['--port', name.slice('demo-'.length)]))
}

/** The spider of the package that crawls the demo site. */
export const demoSpider = 'gallery'

/** The package's own folder is a project: its settings.ts and spiders are what the demo runs. */
export function findOwnProject(): string {
  const built = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
  return holdsSettings(built) ? built : dirname(built)
}

/** The demos that have been run in a folder. */
export function listDemos(folder: string): string[] {
  const frontiers = join(folder, 'frontier')
  if (!existsSync(frontiers)) return []
  return readdirSync(frontiers).filter((file) => /^demo(-\d+)?\.db$/.test(file)).map((file) => basename(file, '.db')).sort()
}

/** Where the demo keeps its data. */
export function demoFolder(from = process.cwd()): string {
  return join(resolve(from), 'data', 'demo')
}

/** Fast and short of patience, as one may be with a site of one's own, and apart from the data of all other crawls. */
export function demoSettings(folder: string): SettingsInput {
  return {
    dataDir: folder,
    database: `sqlite:${join(folder, 'crawl.db')}`,
    files: join(folder, 'images'),
    network: { allowPrivate: true },
    slot: { delayMs: 20, concurrency: 4 },
    autothrottle: { targetConcurrency: 4 },
    retry: { backoffMs: 500 },
  }
}
