import { existsSync } from 'node:fs'
import { SettingsError } from '../../errors.ts'
import { writtenAt } from '../../frontier/inspect.ts'
import { removeFiles, removeJob } from '../../frontier/remove-job.ts'
import { cleanText } from '../clean.ts'
import { alignColumns } from '../columns.ts'
import { commandLine } from '../command-line.ts'
import { exitCode } from '../exit-code.ts'
import { formatBytes, formatCounted } from '../format.ts'
import { isAgreedTo, mayGiveUp } from '../give-up.ts'
import { findPlaces, listPlaces, listSetAside, readJob, type Job, type JobPlace, type JobsOptions } from '../jobs.ts'
import { createPaint } from '../paint.ts'

export interface JobsCleanCommandOptions extends JobsOptions {
  readonly spiders?: readonly string[]
  readonly unfinished?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

/** A job, and the files that were set aside for it; one of both may not be there. */
interface Remains {
  readonly place: JobPlace
  readonly job: Job | undefined
  readonly setAside: readonly string[]
  /** How it was looked at, so that it isn't removed as another. */
  readonly writtenAt: number | undefined
}

interface Removed {
  readonly spider: string
  readonly state: string
  readonly bytes: number
}

interface Kept {
  readonly spider: string
  readonly why: string
}

/** `crawl jobs clean` */
export async function cleanJobs(options: JobsCleanCommandOptions): Promise<number> {
  const { spiders = [], unfinished = false, yes = false, json } = options
  const isNamed = spiders.length > 0
  const places = isNamed ? await findPlaces(spiders, options) : await listPlaces(options)
  const all = places.map(look).filter(({ job, setAside }) => job !== undefined || setAside.length > 0)
  const toRemove: Remains[] = []
  const kept: Kept[] = []
  let isUnreadable = false
  let bytesSetAside = 0
  for (const remains of all) {
    const { place, job } = remains
    const why = reasonToKeep(job, unfinished, isNamed)
    if (why !== undefined && isNamed) throw new SettingsError(`The job of ${place.name} is kept: ${why}. Nothing was removed.`)
    if (why === undefined && (await isAgreed(remains, yes))) toRemove.push(remains)
    else {
      kept.push({ spider: place.name, why: why ?? 'as you said' })
      // What was set aside belongs to no run that could go on.
      if (remains.setAside.length > 0 && job?.process === undefined) bytesSetAside += removeFiles(remains.setAside)
    }
    isUnreadable ||= why !== undefined && job?.state === 'unreadable'
  }
  const removed = toRemove.map(({ place, job, setAside, writtenAt: seenAt }): Removed => ({
    spider: place.name,
    state: `${job?.state ?? 'set aside'}${describeFailed(job)}`,
    bytes: removeJob({ path: place.path, setAside, writtenAt: seenAt }),
  }))
  if (bytesSetAside > 0) removed.push({ spider: 'files', state: 'set aside', bytes: bytesSetAside })
  const bytes = removed.reduce((sum, job) => sum + job.bytes, 0)
  if (json === true) process.stdout.write(`${JSON.stringify({ removed, kept, bytes })}\n`)
  else process.stdout.write(`${render(removed, kept, bytes).join('\n')}\n`)
  return isUnreadable ? exitCode.storage : exitCode.done
}

/** What `crawl jobs retry` could have tried once more. */
function describeFailed(job: Job | undefined): string {
  const count = job?.frontier?.failures.reduce((sum, failure) => sum + failure.count, 0) ?? 0
  return count === 0 ? '' : `, with ${formatCounted(count, 'failed request')}`
}

function look(place: JobPlace): Remains {
  const { path } = place
  const seenAt = existsSync(path) ? writtenAt(path) : undefined
  return { place, job: readJob(place), setAside: listSetAside(path), writtenAt: seenAt }
}

/** Undefined when it may be removed, if the user agrees where there is something to lose. */
function reasonToKeep(job: Job | undefined, unfinished: boolean, isNamed: boolean): string | undefined {
  if (job === undefined) return undefined
  const { state, process: id, frontier, name, command, error } = job
  if (id !== undefined) return `process ${id} is running it`
  if (state === 'unreadable') {
    const remove = commandLine('jobs', 'clean', name, '--unfinished')
    return unfinished && isNamed ? undefined : `${error} To remove it nevertheless: ${remove}`
  }
  if (state === 'finished' || unfinished) return undefined
  const ending = state === 'killed' || state === 'stopped' ? state : `stopped (${state})`
  const left = formatCounted((frontier?.pending ?? 0) + (frontier?.delayed ?? 0), 'request')
  const what = state === 'prepared' ? 'it has not begun, and was given fingerprints' : `${ending}, ${left} left`
  return `${what}. ${command === undefined ? '' : `${command} goes on with it; `}--unfinished removes it`
}

async function isAgreed({ place: { name }, job }: Remains, yes: boolean): Promise<boolean> {
  if (job === undefined || job.state === 'finished' || yes) return true
  const question = 'Remove it?'
  const instead = 'leave out --unfinished. Nothing was removed.'
  if (job.frontier !== undefined) return mayGiveUp(job.frontier, yes, { deed: `Removing the job of ${name}`, question, instead })
  const isPrepared = job.state === 'prepared'
  const what = isPrepared ? 'has not begun, and was given fingerprints that are lost with it' : "can't be read, and may not have ended"
  return isAgreedTo(`The job of ${name} ${what}.`, question, `Add --yes to remove it, or ${instead}`)
}

function render(removed: readonly Removed[], kept: readonly Kept[], bytes: number): string[] {
  const paint = createPaint(process.stdout)
  const cells = removed.map((job) => ['removed', paint('bold', cleanText(job.spider)), job.state, formatBytes(job.bytes)])
  const rows = alignColumns(cells, [3])
  const result = removed.length === 0
    ? `Nothing was removed${kept.length === 0 ? ': no job has ended' : ''}.`
    : `${formatBytes(bytes)} given back. Rows and images stay, and no image is downloaded twice.`
  return [...rows, ...kept.map(({ spider, why }) => `kept     ${paint('bold', cleanText(spider))}: ${cleanText(why)}`), result]
}
