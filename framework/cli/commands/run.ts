import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isCrawlError } from '../../errors.ts'
import { countPrepared, inspectFrontier, type FrontierInspection } from '../../frontier/inspect.ts'
import type { LiveCrawl } from '../../run.ts'
import type { Spider } from '../../spider.ts'
import { parseAssignments, parseCount } from '../assignments.ts'
import { commandLine } from '../command-line.ts'
import { crawlInTerminal, type OutputOptions } from '../crawl-in-terminal.ts'
import { exitCode } from '../exit-code.ts'
import { formatCount, formatCounted, formatDuration } from '../format.ts'
import { isAgreedTo, mayGiveUp } from '../give-up.ts'
import { constructSpider, findProject, findSpider, loadProject, loadProjectSettings, loadSpider } from '../project.ts'

export interface RunCommandOptions extends OutputOptions {
  readonly spider: string
  readonly arg?: readonly string[]
  readonly set?: readonly string[]
  readonly limit?: string
  readonly fresh?: boolean
  readonly yes?: boolean
  readonly project?: string
}

/** `crawl run SPIDER` */
export async function runSpider(options: RunCommandOptions): Promise<number> {
  const { arg = [], set = [], limit, fresh = false } = options
  const root = findProject(options.project)
  const args = parseAssignments('-a', arg)
  const overrides = {
    ...parseAssignments('-s', set),
    ...(limit === undefined ? {} : { 'limits.images': String(parseCount('--limit', limit)) }),
    ...(options.quiet === true ? { 'log.level': 'error' } : options.verbose === true ? { 'log.level': 'debug' } : {}),
  }
  const file = findSpider(root, options.spider)
  const { name } = file
  const from = process.cwd()
  // Paths in settings are the project's, wherever in it the command was typed.
  process.chdir(root)
  const project = await loadProject(root)
  const spiderClass = await loadSpider(root, file)
  const spider = constructSpider(spiderClass, name, args)
  const { settings } = loadProjectSettings(project, spider, overrides)
  const frontierPath = join(resolve(settings.dataDir), 'frontier', `${name}.db`)
  const previous = inspectPrevious(frontierPath, fresh)
  const what = { deed: 'Beginning anew', question: 'Begin anew?', instead: `leave out --fresh to go on with it: ${commandLine('run', name)}` }
  const imported = fresh && previous === undefined ? countImported(frontierPath) : 0
  const isAgreed = options.yes === true
  const lost = `The job of ${name} has not begun, and was given ${formatCounted(imported, 'fingerprint')}: beginning anew forgets them.`
  const mayBegin = imported === 0 ? () => mayGiveUp(previous, isAgreed, what) : async () => isAgreed || isAgreedTo(lost, what.question, `Add --yes to do so, or ${what.instead}`)
  if (fresh && !(await mayBegin())) {
    process.stderr.write(`Nothing was changed. To go on: ${commandLine('run', name)}\n`)
    return exitCode.done
  }

  const elsewhere = root === findNearest(from) ? [] : ['--project', root]
  const resume = commandLine('run', name, ...arg.flatMap((text) => ['-a', text]), ...set.flatMap((text) => ['-s', text]), ...elsewhere)
  return crawlInTerminal({
    crawl: { name, spider: spiderClass, project, args, overrides, fresh },
    output: options,
    resume,
    announce: (live) => announce(live, spider, previous),
    next: ({ reason, images, left }) => [
      ...(reason === 'finished' ? [] : [[resume, 'goes on where it stopped'] as const]),
      ...(left.failed > 0 ? [[commandLine('jobs', 'retry', name, ...elsewhere), `has the next run try ${left.failed === 1 ? 'the one that failed' : `the ${formatCount(left.failed)} that failed`} once more`] as const] : []),
      [commandLine('status', name), images.length > 0 ? 'what has been kept and what has not' : 'what is left to do'],
    ],
    previousRunAt: previous?.endedAt ?? previous?.writtenAt,
  })
}

function findNearest(from: string): string | undefined {
  try {
    return findProject(undefined, from)
  } catch {
    return undefined
  }
}

/** Fingerprints of a job that has not begun. What can't be read has none that could be lost. */
function countImported(path: string): number {
  try {
    return existsSync(path) ? (countPrepared(path) ?? 0) : 0
  } catch {
    return 0
  }
}

/** A frontier that can't be gone on with is set aside when the user begins anew. */
function inspectPrevious(path: string, fresh: boolean): FrontierInspection | undefined {
  try {
    return inspectFrontier(path)
  } catch (error) {
    if (fresh && isCrawlError(error, 'storage') && error.reason === 'unusable') return undefined
    throw error
  }
}

/** The first line: what is crawled, and how politely. */
function announce({ spider: name, resumed, settings, counts }: LiveCrawl, spider: Spider<any>, previous: FrontierInspection | undefined): string {
  const { slot, robots, contact, userAgent } = settings
  const parts = [
    `${name}: ${resumed ? `goes on with a run that ${previous?.ending === undefined ? 'was killed and ' : ''}has ${formatCounted(counts().pending, 'request')} left` : 'begins a new run'}`,
    `${slot.concurrency} at once to a host, ${formatDuration(slot.delayMs)} apart${slot.perSecond > 0 ? `, ${slot.perSecond} a second` : ''}`,
    robots.obey ? 'robots.txt is obeyed' : 'robots.txt is IGNORED',
  ]
  if (contact !== '') parts.push(`contact: ${contact}`)
  else if (userAgent === '' && !isLocal(spider)) parts.push('no contact: set `contact` in settings.ts, so that the owners of sites can reach you')
  return parts.join(' · ')
}

function isLocal({ startUrls }: Spider<any>): boolean {
  return startUrls.length > 0 && startUrls.every((url) => URL.canParse(url) && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname))
}
