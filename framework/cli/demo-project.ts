import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SettingsInput } from '../settings/schema.ts'
import { holdsSettings } from './project.ts'

/** The name under which the demo's run and rows are kept. */
export const demoName = 'demo'

/** The spider of the package that crawls the demo site. */
export const demoSpider = 'gallery'

/** The package's own folder is a project: its settings.ts and spiders are what the demo runs. */
export function findOwnProject(): string {
  const built = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
  return holdsSettings(built) ? built : dirname(built)
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
