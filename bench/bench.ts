/** `npm run bench`: what a page and an image cost the product, beside bare loops over the same packages. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Child, runChild } from './child.ts'
import type { CrawlReport } from './crawl.ts'
import { parseOptions, usage, type Options } from './options.ts'
import { profileOptions, summarizeProfile } from './profile.ts'
import { formatScenario, summarize, type ScenarioResult } from './report.ts'
import { contenders, type Contender, type Job, type ScenarioName } from './scenarios.ts'
import { withScratch } from './scratch.ts'
import type { SiteInput, SiteReport } from './site.ts'

const chosen = readOptions()
if (chosen !== undefined) await withScratch((folder, signal) => bench(chosen, folder, signal))

function readOptions(): Options | undefined {
  try {
    const parsed = parseOptions(process.argv.slice(2))
    if (parsed !== 'help') return parsed
    console.log(usage)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 2
  }
  return undefined
}

async function bench(options: Options, folder: string, signal: AbortSignal): Promise<void> {
  const { pages, images, scenarios } = options
  const input: SiteInput = { pages, images, servesImages: scenarios.includes('images') }
  console.error(`starting the site: ${pages} pages${input.servesImages ? `, ${images} images (rendered once, then kept)` : ''}`)
  const site = new Child<SiteReport>('site.ts', input, signal)
  try {
    const report = await site.report
    const results = await runScenarios(options, report, folder, signal)
    if (options.json) {
      const machine = { node: process.version, platform: `${process.platform} ${process.arch}` }
      console.log(JSON.stringify({ options, site: report, machine, results }, null, 2))
    }
    if (results.some(({ measurements }) => measurements.some(({ counted, expected }) => counted !== expected))) process.exitCode = 1
  } finally {
    site.kill()
    await site.ended
  }
}

async function runScenarios(
  options: Options,
  site: SiteReport,
  folder: string,
  signal: AbortSignal,
): Promise<ScenarioResult[]> {
  const profiles: string[] = []
  const reports = new Map<string, CrawlReport[]>()
  for (let round = 1; round <= options.repeat; round += 1) {
    for (const scenario of options.scenarios) {
      for (const contender of contenders) {
        const name = `${scenario} ${contender}`
        console.error(`${name}, run ${round} of ${options.repeat}`)
        const own = join(folder, `${name.replaceAll(/\W/g, '-')}-${round}`)
        const profiled = options.profile === contender && round === 1
        const report = await crawl(makeJob(options, site, scenario, contender, own), profiled, signal)
        reports.set(name, [...(reports.get(name) ?? []), report])
        if (profiled && 'measurement' in report) {
          profiles.push(`${name}\n\n${await summarizeProfile(join(own, 'profile'), report.measurement)}`)
        }
      }
    }
  }
  const results = options.scenarios.flatMap((scenario) =>
    contenders.map((contender) => summarize(scenario, contender, reports.get(`${scenario} ${contender}`) ?? [])),
  )
  if (!options.json) {
    for (const scenario of options.scenarios) console.log(formatScenario(scenario, options, site, results))
    for (const profile of profiles) console.log(profile)
  }
  return results
}

function makeJob(options: Options, { origin }: SiteReport, scenario: ScenarioName, contender: Contender, own: string): Job {
  const items = scenario === 'images' ? options.images : options.pages
  return { contender, scenario, origin, items, concurrency: options.concurrency, folder: join(own, 'data') }
}

async function crawl(job: Job, profiled: boolean, signal: AbortSignal): Promise<CrawlReport> {
  await mkdir(job.folder, { recursive: true })
  return runChild<CrawlReport>('crawl.ts', job, signal, profiled ? profileOptions(join(job.folder, '..', 'profile')) : [])
}
