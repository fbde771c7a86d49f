import { statSync } from 'node:fs'
import { cleanText } from '../clean.ts'
import { alignColumns, widthOf } from '../columns.ts'
import { commandLine } from '../command-line.ts'
import { exitCode } from '../exit-code.ts'
import { formatBytes, formatCount, formatCounted, formatDate, formatDuration } from '../format.ts'
import { listPlaces, listSetAside, readJob, type Job, type JobsOptions, type JobState } from '../jobs.ts'
import { createPaint, type Paint } from '../paint.ts'
import { shortPath } from '../report.ts'

export interface JobsCommandOptions extends JobsOptions {
  readonly json?: boolean
}

/** A job as `--json` has it. */
export interface ListedJob {
  readonly spider: string
  readonly state: JobState
  readonly process?: number
  /** The frontier's file. */
  readonly frontier: string
  /** Bytes. */
  readonly bytes: number
  /** ms since 1970, as all times. */
  readonly begunAt?: number
  readonly writtenAt: number
  readonly endedAt?: number
  /** Requests that have ended, those that failed too. */
  readonly done?: number
  /** Requests that it has met, as far as they were to be fetched. */
  readonly total?: number
  /** Requests still to do, the delayed ones too. */
  readonly left?: number
  readonly delayed?: number
  readonly failed?: number
  /** Fingerprints that were imported, of a job that has not begun. */
  readonly prepared?: number
  /** What goes on with it; none when the spider's file is gone. */
  readonly command?: string
  /** Why it can't be read. */
  readonly error?: string
}

const head = ['spider', 'state', 'done', '', 'left', 'delayed', 'failed', 'begun', 'written', 'size'] as const
const right = [2, 3, 4, 5, 6, 9]
/** Columns that are left out where there is no room. */
const begunAndSize: ReadonlySet<number> = new Set([7, 9])

/** `crawl jobs` */
export async function showJobs({ json, ...options }: JobsCommandOptions): Promise<number> {
  const places = await listPlaces(options)
  const jobs = places.flatMap((place) => readJob(place) ?? []).map(listed)
  const setAside = places.flatMap(({ path }) => listSetAside(path))
  if (json === true) {
    process.stdout.write(`${JSON.stringify(jobs)}\n`)
  } else {
    const paint = createPaint(process.stdout)
    if (jobs.length > 0) process.stdout.write(`${render(jobs, paint).join('\n')}\n`)
    else process.stderr.write(`There are no jobs yet. \`${commandLine('run')} <spider>\` begins one.\n`)
    if (setAside.length > 0) process.stdout.write(`${paint('dim', describeSetAside(setAside))}\n`)
  }
  return jobs.some(({ error }) => error !== undefined) ? exitCode.storage : exitCode.done
}

function listed({ name, path, command, state, process: id, frontier, prepared, error }: Job): ListedJob {
  const own = statSync(path)
  return {
    spider: name,
    state,
    ...(id === undefined ? {} : { process: id }),
    frontier: path,
    bytes: frontier?.bytes ?? own.size,
    writtenAt: frontier?.writtenAt ?? own.mtimeMs,
    ...(frontier === undefined ? {} : progressOf(frontier)),
    ...(prepared === undefined ? {} : { prepared }),
    ...(command === undefined ? {} : { command }),
    ...(error === undefined ? {} : { error }),
  }
}

function progressOf({ begunAt, endedAt, outcomes, pending, delayed, failures }: NonNullable<Job['frontier']>) {
  const done = outcomes.reduce((sum, { state, count }) => sum + (state === 'retry' ? 0 : count), 0)
  const left = pending + delayed
  const failed = failures.reduce((sum, { count }) => sum + count, 0)
  return { begunAt, ...(endedAt === undefined ? {} : { endedAt }), done, total: done + left, left, delayed, failed }
}

function render(jobs: readonly ListedJob[], paint: Paint): string[] {
  const now = Date.now()
  const rows = jobs.map((job) => {
    const { spider, bytes, writtenAt, begunAt } = job
    const age = `${formatDuration(Math.max(0, now - writtenAt))} ago`
    const begun = begunAt === undefined ? '' : formatDate(begunAt)
    return [paint('bold', cleanText(spider)), describeState(job, paint), ...describeProgress(job), begun, age, formatBytes(bytes)]
  })
  const full = alignColumns([[...head], ...rows], right)
  const isNarrow = process.stdout.isTTY && full.some((line) => widthOf(line) > process.stdout.columns)
  const [first = '', ...lines] = isNarrow ? alignColumns([[...head], ...rows].map((row) => row.filter((_, index) => !begunAndSize.has(index))), right) : full
  const problems = jobs
    .filter(({ error }) => error !== undefined)
    .map(({ spider, error = '' }) => paint('red', `${cleanText(spider)}: ${cleanText(error)}`))
  const gone = jobs.filter(({ command }) => command === undefined).map(({ spider }) => cleanText(spider))
  const notes = gone.length === 0 ? [] : [paint('dim', `${gone.join(', ')}: there is no such spider any more`)]
  return [paint('dim', first), ...lines, ...problems, ...notes]
}

function describeState({ state, process: id }: ListedJob, paint: Paint): string {
  const colour = state === 'unreadable' ? 'red' : state === 'running' || state === 'finished' ? 'green' : 'yellow'
  return `${paint(colour, state)}${id === undefined ? '' : ` (${id})`}`
}

function describeProgress({ done, total, left = 0, delayed = 0, failed = 0, prepared }: ListedJob): string[] {
  if (prepared !== undefined) return [`${formatCount(prepared)} known`, '', '', '', '']
  if (done === undefined || total === undefined) return ['', '', '', '', '']
  const percent = total === 0 ? '' : `${Math.floor((done / total) * 100)} %`
  const counts = [left, delayed, failed].map((count) => (count === 0 ? '' : formatCount(count)))
  return [`${formatCount(done)} of ${formatCount(total)}`, percent, ...counts]
}

function describeSetAside(files: readonly string[]): string {
  const bytes = files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)
  const example = cleanText(shortPath(files[0] ?? ''))
  const frontiers = files.filter((file) => !/-(wal|shm)$/.test(file)).length
  const what = `${formatCounted(frontiers, 'frontier')} set aside (${formatBytes(bytes)}), such as ${example}`
  return `${what}: \`${commandLine('jobs', 'clean')}\` removes what was set aside`
}
