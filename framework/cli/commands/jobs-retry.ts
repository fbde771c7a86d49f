import { existsSync } from 'node:fs'
import { SettingsError } from '../../errors.ts'
import { inspectFrontier } from '../../frontier/inspect.ts'
import { retryFailed } from '../../frontier/retry-failed.ts'
import { commandLine } from '../command-line.ts'
import { exitCode } from '../exit-code.ts'
import { formatCounted } from '../format.ts'
import { findPlace, type JobsOptions } from '../jobs.ts'
import { createPaint } from '../paint.ts'
import { describeReasons } from '../report.ts'

export interface JobsRetryCommandOptions extends JobsOptions {
  readonly spider: string
  readonly reason?: string
  readonly json?: boolean
}

/** `crawl jobs retry SPIDER` */
export async function retryJob({ spider, reason, json, ...options }: JobsRetryCommandOptions): Promise<number> {
  const { name, path, command } = await findPlace(spider, options)
  if (!existsSync(path)) {
    throw new SettingsError(`There is no job of ${name}: nothing can have failed. \`${commandLine('run', name)}\` begins one.`)
  }
  const failures = await retryFailed(path, reason)
  const count = failures.reduce((sum, failure) => sum + failure.count, 0)
  if (json === true) {
    process.stdout.write(`${JSON.stringify({ spider: name, count, failures })}\n`)
    return exitCode.done
  }
  const paint = createPaint(process.stdout)
  if (count === 0) {
    process.stdout.write(`${describeNone(path, name, reason)}\n`)
    return exitCode.done
  }
  const reasons = describeReasons(failures.map(({ kind, reason: own, count: part }) => ({ reason: `${kind} ${own}`, count: part })))
  process.stdout.write(`${formatCounted(count, 'request')} of ${name} will be tried again: ${reasons}\n`)
  process.stdout.write(`${paint('dim', 'next')}  ${paint('cyan', command ?? commandLine('run', name))}\n`)
  return exitCode.done
}

function describeNone(path: string, name: string, reason: string | undefined): string {
  const failures = inspectFrontier(path)?.failures ?? []
  if (reason === undefined || failures.length === 0) return `No request of ${name} has failed.`
  return `No request of ${name} has failed with the reason "${reason}". There are: ${describeReasons(failures)}`
}
