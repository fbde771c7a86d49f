import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { RunSummary } from 'orbweaver'
import type { SiteProcess } from '../../framework/demo/process.ts'

const root = join(import.meta.dirname, '../..')

export interface KillOptions {
  readonly site: SiteProcess
  readonly dataDir: string
  /** How often the crawl is killed before it may end. */
  readonly kills: number
}

/** Runs the real command, kills it with SIGKILL after a random number of further requests, and again, and then lets it end. */
export async function killUntilDone({ site, dataDir, kills }: KillOptions): Promise<{ kills: number; summary: RunSummary }> {
  for (let killed = 0; ; ) {
    const crawl = spawn(
      process.execPath,
      [
        join(root, 'framework/cli/bin.js'), 'run', 'gallery', '--project', root, '--json', '--quiet', '-a', `site=${site.url}`,
        '-s', `dataDir=${dataDir}`, '-s', 'network.allowPrivate=true', '-s', 'slot.delayMs=0', '-s', 'slot.concurrency=8',
        '-s', 'autothrottle.enabled=false', '-s', 'retry.backoffMs=100',
      ],
      { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, DATABASE_URL: '' } },
    )
    const exited = once(crawl, 'exit')
    const output = text(crawl.stdout)
    if (killed < kills) {
      const target = (await requestsOf(site)) + 3 + Math.floor(Math.random() * 60)
      while (crawl.exitCode === null && (await requestsOf(site)) < target) await wait(2)
      crawl.kill('SIGKILL')
    }
    const [code, signal] = (await exited) as [number | null, NodeJS.Signals | null]
    if (signal === 'SIGKILL') {
      killed++
      continue
    }
    if (code !== 0) throw new Error(`the crawl ended with exit code ${code}: ${await output}`)
    return { kills: killed, summary: JSON.parse(await output) as RunSummary }
  }
}

async function requestsOf(site: SiteProcess): Promise<number> {
  return Object.values(await site.requests()).reduce((sum, count) => sum + count, 0)
}
