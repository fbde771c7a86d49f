import { loadSettings } from '../../settings/load.ts'
import { parseAssignments } from '../assignments.ts'
import { cleanText } from '../clean.ts'
import { commandLine } from '../command-line.ts'
import { demoCommand, demoFolder, demoSettings, listDemos } from '../demo-project.ts'
import { exitCode } from '../exit-code.ts'
import { formatBytes, formatClock, formatCount, formatCounted, formatDate } from '../format.ts'
import { createPaint, type Paint } from '../paint.ts'
import { findSpider, listSpiders } from '../project.ts'
import { describeReasons, shortPath } from '../report.ts'
import { findProjectUnless, readSpiderSettings } from '../spider-settings.ts'
import { readSpiderStatus, type SpiderStatus } from '../spider-status.ts'

export interface StatusCommandOptions {
  readonly spider?: string
  readonly set?: readonly string[]
  readonly json?: boolean
  readonly project?: string
}

/** `crawl status` */
export async function showStatus({ spider: only, set, json, project: folder }: StatusCommandOptions): Promise<number> {
  const demo = demoFolder()
  const demos = listDemos(demo)
  const statuses: SpiderStatus[] = []
  if (only === undefined || !demos.includes(only)) statuses.push(...(await readProject(folder, only, parseAssignments('-s', set), demos.length > 0)))
  for (const name of demos) if (only === undefined || name === only) statuses.push(await readSpiderStatus(name, loadSettings({ program: demoSettings(demo) }).settings, demoCommand(name)))
  if (json === true) {
    process.stdout.write(`${JSON.stringify(statuses)}\n`)
  } else if (statuses.length === 0) {
    process.stderr.write(`There are no spiders yet. Write spiders/<site>.ts.\n`)
  } else {
    const paint = createPaint(process.stdout)
    process.stdout.write(`${statuses.map((status) => render(status, paint).join('\n')).join('\n\n')}\n`)
  }
  return statuses.some(({ errors }) => errors.length > 0) ? exitCode.storage : exitCode.done
}

async function readProject(folder: string | undefined, only: string | undefined, overrides: Record<string, string>, isOptional: boolean): Promise<SpiderStatus[]> {
  const root = findProjectUnless(isOptional && only === undefined, folder)
  if (root === undefined) return []
  process.chdir(root)
  const statuses: SpiderStatus[] = []
  for (const { file, settings, problem } of await readSpiderSettings(root, only === undefined ? listSpiders(root) : [findSpider(root, only)], overrides)) {
    const status = await readSpiderStatus(file.name, settings, commandLine('run', file.name))
    statuses.push(problem === undefined ? status : { ...status, problem })
  }
  return statuses
}

const labelWidth = 10

function render({ name, state, frontier, images, files, database, command, problem, errors }: SpiderStatus, paint: Paint): string[] {
  const line = (label: string, text: string) => `  ${paint('dim', label.padEnd(labelWidth))}${text}`
  const lines = [`${paint('bold', cleanText(name))}  ${describeState({ state, frontier }, images.length > 0, paint)}`]
  for (const error of [...(problem === undefined ? [] : [problem]), ...errors]) lines.push(line('problem', paint('red', cleanText(error))))
  if (state === 'never run' && images.length === 0) return [...lines, line('next', paint('cyan', command))]
  lines.push(line('images', describeImages(images)))
  for (const status of ['dropped', 'failed'] as const) {
    const rows = images.filter((row) => row.status === status)
    if (rows.length > 0) lines.push(line(status, describeReasons(rows)))
  }
  if (frontier !== undefined) {
    lines.push(line('queue', describeQueue(frontier)))
    if (frontier.failures.length > 0) {
      const reasons = describeReasons(frontier.failures.map(({ kind, reason, count }) => ({ reason: `${kind} ${reason}`, count })))
      lines.push(line('given up', `${reasons} · ${paint('cyan', commandLine('jobs', 'retry', name))}`))
    }
    const [pause, ...others] = [...frontier.pauses].sort((a, b) => b.until - a.until)
    if (pause !== undefined) lines.push(line('waits', `${cleanText(pause.slot, 60)} until ${formatClock(pause.until)}${others.length > 0 ? ` and ${formatCounted(others.length, 'other host')}` : ''}`))
  }
  lines.push(line('files', cleanText(shortPath(files))), line('database', cleanText(shortPath(database))))
  if (state === 'stopped') lines.push(line('next', `${paint('cyan', command)}  goes on where it stopped`))
  if (state === 'finished') lines.push(line('next', `${paint('cyan', command)}  looks for what is new; nothing is downloaded twice`))
  return lines
}

function describeState({ state, frontier }: Pick<SpiderStatus, 'state' | 'frontier'>, hasImages: boolean, paint: Paint): string {
  if (frontier === undefined) return paint(state === 'unreadable' ? 'red' : 'dim', state === 'never run' && hasImages ? 'no run' : state)
  if (state === 'running') return `${paint('green', 'running')} (process ${frontier.process}) since ${formatDate(frontier.begunAt)}`
  if (state === 'finished') return `${paint('green', 'finished')} ${formatDate(frontier.endedAt ?? frontier.writtenAt)}`
  const ending = frontier.ending === undefined ? 'killed' : frontier.ending === 'stopped' ? 'stopped' : `stopped (${cleanText(frontier.ending, 40)})`
  return `${paint('yellow', ending)} ${formatDate(frontier.writtenAt)}, begun ${formatDate(frontier.begunAt)}`
}

function describeImages(images: SpiderStatus['images']): string {
  const count = (status: string, reason?: string) => images.reduce((sum, row) => sum + (row.status === status && (reason === undefined || row.reason === reason) ? row.count : 0), 0)
  const bytes = images.reduce((sum, row) => sum + (row.status === 'downloaded' ? row.bytes : 0), 0)
  const parts = [`${formatCount(count('downloaded'))} downloaded (${formatBytes(bytes)})`]
  const duplicates = count('duplicate')
  if (duplicates > 0) parts.push(`${formatCounted(duplicates, 'duplicate')} (${formatCount(count('duplicate', 'exact'))} exact)`)
  for (const [status, word] of [['dropped', 'dropped'], ['failed', 'failed'], ['pending', 'not tried yet']] as const) {
    if (count(status) > 0) parts.push(`${formatCount(count(status))} ${word}`)
  }
  return parts.join(' · ')
}

function describeQueue({ pending, delayed, nextDueAt, failures }: NonNullable<SpiderStatus['frontier']>): string {
  const failed = failures.reduce((sum, { count }) => sum + count, 0)
  const parts = [`${formatCount(pending)} pending`]
  if (delayed > 0) parts.push(`${formatCount(delayed)} delayed${nextDueAt === undefined ? '' : `, the first until ${formatClock(nextDueAt)}`}`)
  if (failed > 0) parts.push(`${formatCount(failed)} given up`)
  return parts.join(' · ')
}
