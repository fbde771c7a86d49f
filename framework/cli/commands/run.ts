import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { SettingsError } from '../../errors.ts'
import { inspectFrontier, type FrontierInspection } from '../../frontier/inspect.ts'
import type { LiveCrawl } from '../../run.ts'
import type { Spider } from '../../spider.ts'
import { parseAssignments, parseCount } from '../assignments.ts'
import { commandLine } from '../command-line.ts'
import { crawlInTerminal, type OutputOptions } from '../crawl-in-terminal.ts'
import { exitCode } from '../exit-code.ts'
import { formatCounted, formatDate, formatDuration } from '../format.ts'
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
  const previous = inspectFrontier(join(resolve(settings.dataDir), 'frontier', `${name}.db`))
  if (fresh && !(await mayGiveUp(previous, options.yes === true, name))) {
    process.stderr.write(`Nothing was changed. To go on: ${commandLine('run', name)}\n`)
    return exitCode.done
  }

  const resume = commandLine('run', name, ...arg.flatMap((text) => ['-a', text]), ...set.flatMap((text) => ['-s', text]), ...(root === findNearest(from) ? [] : ['--project', root]))
  return crawlInTerminal({
    crawl: { name, spider: spiderClass, project, args, overrides, fresh },
    output: options,
    resume,
    announce: (live) => announce(live, spider),
    next: ({ reason, images }) => [
      ...(reason === 'finished' ? [] : [[resume, 'goes on where it stopped'] as const]),
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

/** Whether the unfinished run may be given up: it isn't one, the user has said so, or says so when asked. */
async function mayGiveUp(previous: FrontierInspection | undefined, isAgreed: boolean, name: string): Promise<boolean> {
  if (previous === undefined || previous.endedAt !== undefined || isAgreed) return true
  const left = formatCounted(previous.pending + previous.delayed, 'request')
  const text = `The run of ${formatDate(previous.begunAt)} has not ended: ${left} left. Beginning anew gives up its queue; images that are kept stay known.`
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new SettingsError(`${text} Add --yes to do so, or leave out --fresh to go on with it: ${commandLine('run', name)}`)
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await prompt.question(`${text}\nBegin anew? [y/N] `)).trim())
  } finally {
    prompt.close()
  }
}

/** The first line: what is crawled, and how politely. */
function announce({ spider: name, resumed, settings, counts }: LiveCrawl, spider: Spider<any>): string {
  const { slot, robots, contact, userAgent } = settings
  const parts = [
    `${name}: ${resumed ? `goes on with a run that has ${formatCounted(counts().pending, 'request')} left` : 'begins a new run'}`,
    `${slot.concurrency} at once to a host, ${formatDuration(slot.delayMs)} apart`,
    robots.obey ? 'robots.txt is obeyed' : 'robots.txt is IGNORED',
  ]
  if (contact !== '') parts.push(`contact: ${contact}`)
  else if (userAgent === '' && !isLocal(spider)) parts.push('no contact: set `contact` in settings.ts, so that the owners of sites can reach you')
  return parts.join(' · ')
}

function isLocal({ startUrls }: Spider<any>): boolean {
  return startUrls.length > 0 && startUrls.every((url) => URL.canParse(url) && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname))
}
