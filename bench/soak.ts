/** `npm run bench:soak`: whether a long crawl stays within the memory that it is meant to take. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Child } from './child.ts'
import { parseCount } from './options.ts'
import { withScratch } from './scratch.ts'
import type { SoakJob, SoakReport } from './soak-crawl.ts'
import { formatCurve, judge } from './soak-report.ts'
import type { SoakSiteInput, SoakSiteReport } from './soak-site.ts'

interface SoakOptions {
  readonly pages: number
  readonly concurrency: number
}

const usage = `npm run bench:soak -- [options]

  --pages N          pages of the site (100,000)
  --concurrency N    requests in progress at once (32)
`

const chosen = readOptions()
if (chosen !== undefined) await withScratch((folder, signal) => soak(chosen, folder, signal))

function readOptions(): SoakOptions | undefined {
  try {
    const { values } = parseArgs({ options: { pages: { type: 'string' }, concurrency: { type: 'string' }, help: { type: 'boolean', short: 'h', default: false } } })
    if (!values.help) return { pages: parseCount('--pages', values.pages, 100_000), concurrency: parseCount('--concurrency', values.concurrency, 32) }
    console.log(usage)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 2
  }
  return undefined
}

async function soak({ pages, concurrency }: SoakOptions, folder: string, signal: AbortSignal): Promise<void> {
  const site = new Child<SoakSiteReport>('soak-site.ts', { pages } satisfies SoakSiteInput, signal)
  try {
    const { origin } = await site.report
    const data = join(folder, 'data')
    await mkdir(data)
    // A long one takes hours, so nothing but an interrupt ends it.
    const crawl = new Child<SoakReport>('soak-crawl.ts', { origin, pages, concurrency, folder: data } satisfies SoakJob, signal)
    const [report] = await Promise.allSettled([crawl.report, crawl.ended])
    if (report.status === 'rejected') throw report.reason
    const { text, isBounded } = judge(report.value, pages)
    console.log(`${formatCurve(report.value)}\n\n${text}`)
    if (!isBounded) process.exitCode = 1
  } finally {
    site.kill()
    await site.ended
  }
}
