import { relative } from 'node:path'
import type { OutcomeCount } from '../frontier/frontier.ts'
import type { RunSummary } from '../run.ts'
import { cleanText } from './clean.ts'
import { alignColumns, wrapWords } from './columns.ts'
import { countKept, hasReadNothing } from './exit-code.ts'
import { formatBytes, formatClock, formatCount, formatCounted, formatDate, formatDuration, formatRate } from './format.ts'
import { plainPaint, type Paint } from './paint.ts'
import { countWork } from './rates.ts'

export interface ReportOptions {
  /** Default: no colours. */
  readonly paint?: Paint
  /** When the run before this one was worked on last, ms since 1970. */
  readonly previousRunAt?: number | undefined
  /** When the first of the requests that are left may be fetched, ms since 1970, if something makes them wait. */
  readonly waitsUntil?: number | undefined
  /** What to type next, with what it does. */
  readonly next?: readonly (readonly [command: string, meaning: string])[]
}

/** A name, a number and what there is to say of it. */
type Row = readonly [label: string, number: string, words: string]

const maxWidth = 100
const numberWidth = 10

/** How a run went, for people: at most 100 columns wide. */
export function renderReport(summary: RunSummary, { paint = plainPaint, previousRunAt, waitsUntil, next = [] }: ReportOptions = {}): string {
  const rows: Row[] = [...pageRows(summary), ...imageRows(summary), ...queueRows(summary, waitsUntil), ...linkRows(summary), ...rateRows(summary)]
  const lines = [
    `${paint('bold', cleanText(summary.spider))} ${paint(summary.reason === 'finished' ? 'green' : 'yellow', describeEnd(summary))}`,
    ...describeNothingNew(summary, previousRunAt),
    '',
    ...rows.flatMap((row) => renderRow(row, paint)),
    '',
    `${paint('dim', 'files'.padEnd(numberWidth))}${cleanText(shortPath(summary.files))}`,
    `${paint('dim', 'database'.padEnd(numberWidth))}${cleanText(shortPath(summary.database))}`,
    ...nextLines(next, paint),
  ]
  return `${lines.join('\n')}\n`
}

/** What ended a run, in a few words. */
function describeEnd({ reason, limit, durationMs, left, resumed }: RunSummary): string {
  const time = formatDuration(durationMs)
  const rest = left.pending > 0 ? `, ${formatCounted(left.pending, 'request')} left` : ''
  switch (reason) {
    case 'finished':
      return `${resumed ? 'resumed and finished' : 'finished'} in ${time}`
    case 'limit':
      return `stopped by ${limit ?? 'a limit'} after ${time}${rest}`
    case 'blocked':
      return `stopped after ${time}: every host that is left asks for patience${rest}`
    case 'stopped':
      return `stopped after ${time}${rest}`
  }
}

function describeNothingNew(summary: RunSummary, previousRunAt: number | undefined): string[] {
  const known = summary.stats['images/known'] ?? 0
  if (summary.reason === 'finished' && hasReadNothing(summary)) return ['No page could be read.']
  if (summary.reason !== 'finished' || known === 0 || (summary.stats['images/done'] ?? 0) > 0) return []
  return [`0 images downloaded: all ${formatCount(known)} are known${previousRunAt === undefined ? '' : ` since the run of ${formatDate(previousRunAt)}`}.`]
}

function pageRows({ outcomes }: RunSummary): Row[] {
  const of = (state: OutcomeCount['state']) => outcomes.filter((outcome) => outcome.kind === 'page' && outcome.state === state)
  const rows: Row[] = [['pages', formatCount(total(of('done'))), 'done']]
  for (const [state, word] of [['ignored', 'ignored'], ['dropped', 'dropped'], ['failed', 'failed']] as const) addReasons(rows, of(state), word)
  return rows
}

/** Rows of all runs; what this process has added is said behind them. */
function imageRows(summary: RunSummary): Row[] {
  const { images, stats } = summary
  const of = (status: string, reason?: string) => images.filter((row) => row.status === status && (reason === undefined || row.reason === reason))
  const kept = countKept(summary)
  const added = Math.max(0, (stats['images/downloaded'] ?? 0) - (stats['dedupe/replaced'] ?? 0))
  const bytes = of('downloaded').reduce((sum, row) => sum + row.bytes, 0)
  const rows: Row[] = [['images', formatCount(kept), `downloaded, ${formatBytes(bytes)}${added === kept ? '' : added === 0 ? ', none of them new' : `, ${formatCount(added)} of them new`}`]]
  const add = (count: number, words: string) => count > 0 && rows.push(['', formatCount(count), words])
  add(total(of('duplicate', 'exact')), 'exact duplicates, not kept')
  add(total(of('duplicate')) - total(of('duplicate', 'exact')), 'duplicates to the eye, not kept')
  add(stats['dedupe/review'] ?? 0, 'kept, nearly the same as another: to be reviewed')
  addReasons(rows, of('dropped'), 'dropped')
  addReasons(rows, of('failed'), 'failed')
  add(total(of('pending')), 'found, not tried yet')
  return rows
}

function queueRows({ outcomes, left, reason }: RunSummary, waitsUntil: number | undefined): Row[] {
  const rows: Row[] = []
  addReasons(rows, outcomes.filter(({ state }) => state === 'retry'), 'tried again')
  if (left.pending > 0 && reason === 'blocked') {
    const time = waitsUntil === undefined ? 'longer than limits.blockedMs' : `until ${formatClock(waitsUntil)} or later`
    rows.push(['', formatCount(left.pending), `${left.pending === 1 ? 'waits' : 'wait'} ${time}: the next run takes ${left.pending === 1 ? 'it' : 'them'} up`])
  } else if (left.pending > 0) rows.push(['', formatCount(left.pending), `left to do${left.delayed > 0 ? `, ${formatCount(left.delayed)} of them not before later` : ''}`])
  const [first, ...others] = rows
  return first === undefined ? [] : [['requests', first[1], first[2]], ...others]
}

/** Counted exactly, or with an error that is said. */
function linkRows({ distinct: { count, error } }: RunSummary): Row[] {
  if (count === 0) return []
  return [['links', formatCount(count), `different URLs met${error === 0 ? '' : `, about: ± ${(error * 100).toFixed(1)} %`}`]]
}

function rateRows({ stats, durationMs }: RunSummary): Row[] {
  const { pages, images, bytes } = countWork(stats)
  const seconds = Math.max(durationMs, 1) / 1000
  return [['rate', '', `${formatRate(pages / seconds)} pages/s · ${formatRate(images / seconds)} images/s · ${formatBytes(bytes / seconds)}/s · ${formatBytes(bytes)} received`]]
}

interface ReasonCount {
  readonly reason: string
  readonly count: number
}

function addReasons(rows: Row[], counts: readonly ReasonCount[], word: string): void {
  if (counts.length > 0) rows.push(['', formatCount(total(counts)), `${word}: ${describeReasons(counts)}`])
}

/** `12 too small, 3 robots`, the most frequent first. */
export function describeReasons(counts: readonly ReasonCount[], max = 8): string {
  const byReason = new Map<string, number>()
  for (const { reason, count } of counts) {
    const name = cleanText(reason, 40) || 'no reason given'
    byReason.set(name, (byReason.get(name) ?? 0) + count)
  }
  const sorted = [...byReason].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  const rest = sorted.slice(max).reduce((sum, [, count]) => sum + count, 0)
  return [...sorted.slice(0, max).map(([reason, count]) => `${formatCount(count)} ${reason}`), ...(rest > 0 ? [`${formatCount(rest)} others`] : [])].join(', ')
}

function renderRow([label, number, words]: Row, paint: Paint): string[] {
  const indent = ' '.repeat(numberWidth + numberWidth)
  const lines = wrapWords(words.split(' '), maxWidth - indent.length)
  const head = `${paint('dim', label.padEnd(numberWidth))}${number === '' ? '' : `${number.padStart(numberWidth - 2)}  `}`
  return lines.map((line, index) => (index === 0 ? head : number === '' ? ' '.repeat(numberWidth) : indent) + line)
}

/** Commands with what they do behind them, or below them where there is no room. */
function nextLines(next: ReportOptions['next'] & {}, paint: Paint): string[] {
  const width = Math.max(...next.map(([command]) => command.length))
  const fits = next.every(([, meaning]) => numberWidth + width + 2 + meaning.length <= maxWidth)
  const rows = fits ? alignColumns(next.map(([command, meaning]) => [paint('cyan', command), meaning])) : next.flatMap(([command, meaning]) => [paint('cyan', command), `  ${meaning}`])
  return rows.map((row, index) => `${paint('dim', (index === 0 ? 'next' : '').padEnd(numberWidth))}${row}`)
}

/** A path inside the folder where the command was typed, without that folder. */
export function shortPath(location: string, from = process.cwd()): string {
  const [, scheme = '', path = ''] = /^([a-z]+:(?!\/\/))?(.*)$/s.exec(location) ?? []
  if (!path.startsWith('/')) return location
  const short = relative(from, path)
  return short.startsWith('..') ? location : `${scheme}${short === '' ? '.' : short}`
}

const total = (counts: readonly { readonly count: number }[]): number => counts.reduce((sum, { count }) => sum + count, 0)
