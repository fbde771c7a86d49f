import { isCrawlError, messageOf } from '../errors.ts'
import { inspectFrontier } from '../frontier/inspect.ts'
import { run, type LiveCrawl, type RunOptions, type RunSummary } from '../run.ts'
import { exitCodeOfRun, exitCodeOfSignal } from './exit-code.ts'
import { formatDuration } from './format.ts'
import { LiveBlock } from './live-block.ts'
import { Logger } from './logger.ts'
import { maskValue } from './mask.ts'
import { createPaint } from './paint.ts'
import { Progress } from './progress.ts'
import { renderReport, type ReportOptions } from './report.ts'
import { Shutdown } from './shutdown.ts'

/** What the options of a command that crawls say of its output. */
export interface OutputOptions {
  readonly quiet?: boolean
  readonly verbose?: boolean
  readonly logJson?: boolean
  readonly json?: boolean
}

export interface TerminalCrawl {
  readonly crawl: Omit<RunOptions, 'stopping' | 'aborting' | 'log' | 'onOpen'>
  readonly output: OutputOptions
  /** The command that goes on. */
  readonly resume: string
  /** Asks for a graceful end, besides the signals of the process. */
  readonly stopping?: AbortSignal
  /** What is said when the crawl is open, in one line. */
  readonly announce: (live: LiveCrawl) => string
  /** What to type next. */
  readonly next: (summary: RunSummary) => ReportOptions['next'] & {}
  readonly previousRunAt?: number | undefined
}

/** Without a terminal, how it goes is written to the log so often. */
const statsMs = 60_000

/** Crawls with log, progress, signals and report, and answers the exit code. */
export async function crawlInTerminal({ crawl, output, resume, stopping, announce, next, previousRunAt }: TerminalCrawl): Promise<number> {
  const { stderr } = process
  const paint = createPaint(stderr)
  const isLive = stderr.isTTY && process.env['TERM'] !== 'dumb' && output.quiet !== true && output.logJson !== true
  const level = output.quiet === true ? 'error' : output.verbose === true ? 'debug' : 'info'
  const log = new Logger({ level, json: output.logJson === true, colour: stderr.isTTY && stderr.hasColors(), write: (text) => void stderr.write(text) })
  let graceText = 'a few seconds'
  let progress: Progress | undefined
  let endProgress = () => {}
  const shutdown = new Shutdown({
    announceStop: (signal) => {
      if (progress !== undefined) progress.stopping = true
      stderr.write(`${signal}: stopping. What is in progress may end within ${graceText}; once more ends it at once. To go on later: ${resume}\n`)
    },
    announceAbort: (signal) => void stderr.write(`${signal}: ending at once. What is in progress goes back to the queue.\n`),
  })
  const stop = () => shutdown.stop()
  stopping?.addEventListener('abort', stop, { once: true })
  const onOpen = (live: LiveCrawl) => {
    if (level === 'info') log.setLevel(live.settings.log.level)
    graceText = formatDuration(live.settings.stop.graceMs)
    log.info({ spider: live.spider, resumed: live.resumed }, announce(live))
    progress = new Progress(live, paint)
    endProgress = isLive ? drawProgress(progress) : logProgress(progress, log)
  }
  try {
    const summary = await run({ ...crawl, stopping: shutdown.stopping, aborting: shutdown.aborting, log, onOpen })
    endProgress()
    log.flush()
    const code = exitCodeOfRun(summary, shutdown.signal)
    if (output.json === true) process.stdout.write(`${JSON.stringify({ ...maskSettings(summary), exit: code, ...(summary.reason === 'finished' ? {} : { resume }) })}\n`)
    else stderr.write(`\n${renderReport(summary, { paint, previousRunAt, waitsUntil: waitsUntil(summary), next: next(summary) })}`)
    return code
  } catch (error) {
    if (shutdown.signal === undefined || isCrawlError(error)) throw error
    stderr.write(`Ended by ${shutdown.signal}: ${messageOf(error)} To go on later: ${resume}\n`)
    return exitCodeOfSignal(shutdown.signal)
  } finally {
    endProgress()
    shutdown.close()
    stopping?.removeEventListener('abort', stop)
  }
}

/** When the first of what is left may be fetched: a request whose next try comes due, or one of a host that asked for a pause. */
function waitsUntil({ reason, frontier }: RunSummary): number | undefined {
  if (reason !== 'blocked') return undefined
  const { nextDueAt = Infinity, pauses = [] } = inspectFrontier(frontier) ?? {}
  const first = Math.min(nextDueAt, ...pauses.map(({ until }) => until))
  return first === Infinity ? undefined : first
}

function maskSettings(summary: RunSummary): object {
  return { ...summary, settings: maskValue(summary.settings) }
}

function drawProgress(progress: Progress): () => void {
  const block = new LiveBlock(process.stderr, () => progress.lines())
  block.start()
  return () => block.stop()
}

function logProgress(progress: Progress, log: Logger): () => void {
  const timer = setInterval(() => log.info({ event: 'stats' }, progress.line()), statsMs)
  return () => clearInterval(timer)
}
