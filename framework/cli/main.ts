import { isCrawlError } from '../errors.ts'
import { cleanText } from './clean.ts'
import { exitCode, exitCodeOfError } from './exit-code.ts'
import { placeOf } from './import-file.ts'

/** A command: does its work with the options that yargs has read, and answers the exit code. */
type Command = (options: never) => Promise<number>

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import('./commands/run.ts')).runSpider,
  status: async () => (await import('./commands/status.ts')).showStatus,
  list: async () => (await import('./commands/list.ts')).showSpiders,
  settings: async () => (await import('./commands/settings.ts')).showSettings,
  jobs: async () => (await import('./commands/jobs.ts')).showJobs,
  'jobs clean': async () => (await import('./commands/jobs-clean.ts')).cleanJobs,
  'jobs retry': async () => (await import('./commands/jobs-retry.ts')).retryJob,
  'seen export': async () => (await import('./commands/seen.ts')).exportSeenOf,
  'seen import': async () => (await import('./commands/seen.ts')).importSeenInto,
  demo: async () => (await import('./commands/demo.ts')).runDemo,
}

/** Runs a command of `crawl` and ends the process with its exit code. */
export async function runCommand(name: string, options: Record<string, unknown>): Promise<void> {
  const isVerbose = options['verbose'] === true
  for (const stream of [process.stdout, process.stderr]) stream.on('error', (error: NodeJS.ErrnoException) => endOfOutput(error))
  const fail = (error: unknown) => {
    explain(error, isVerbose)
    process.exit(exitCode.unexpected)
  }
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
  let code: number
  try {
    const command = await commands[name]?.()
    if (command === undefined) throw new Error(`There is no command "${name}".`)
    code = await command(options as never)
  } catch (error) {
    explain(error, isVerbose)
    code = exitCodeOfError(error)
  }
  process.exitCode = code
  // Something that a part has left open must not keep the command from ending.
  await new Promise((resolve) => process.stdout.write('', resolve))
  process.exit(code)
}

/** Whoever reads our output may go: a pipe into `head`, or a terminal that is closed. The crawl still ends in order. */
function endOfOutput(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
}

/** One message for what the user can mend; for what he can't, also where it was thrown. */
function explain(error: unknown, isVerbose: boolean): void {
  const errors = error instanceof AggregateError ? [error, ...error.errors] : [error]
  for (const each of errors) {
    const message = each instanceof Error ? each.message : String(each)
    const text = message.split('\n').map((line) => cleanText(line, 1_000)).join('\n')
    const place = isCrawlError(each) ? undefined : placeOf(each, process.cwd())
    process.stderr.write(`${isCrawlError(each) ? '' : 'Unexpected error: '}${text}${place === undefined ? '' : ` (${place})`}\n`)
    if (isVerbose && each instanceof Error) process.stderr.write(`${each.stack}${each.cause instanceof Error ? `\nCaused by: ${each.cause.stack}` : ''}\n`)
  }
  if (!isVerbose && errors.some((each) => !isCrawlError(each))) process.stderr.write('What has been kept is safe. With -v the stack is shown.\n')
}
