import { constants } from 'node:os'
import { isCrawlError } from '../errors.ts'
import type { RunSummary } from '../run.ts'

/** What the command answers to the shell. After 4, 5, 6 and a signal the same command goes on. */
export const exitCode = {
  done: 0,
  unexpected: 1,
  /** Wrong command line, settings or spider: nothing was begun. */
  usage: 2,
  /** Not one page could be read, or fewer images are kept than `expect.images`. */
  expectation: 3,
  limit: 4,
  /** Every host that is left asks for patience. */
  blocked: 5,
  /** Database, frontier or disk. */
  storage: 6,
} as const

/** 128 and the signal's number, as shells have it: 130 for SIGINT, 143 for SIGTERM. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

export function exitCodeOfError(error: unknown): number {
  if (error instanceof AggregateError) return Math.max(...error.errors.map(exitCodeOfError), exitCode.unexpected)
  if (isCrawlError(error, 'storage')) return exitCode.storage
  return isCrawlError(error, 'settings') ? exitCode.usage : exitCode.unexpected
}

/** @param signal that has stopped it, if one has. */
export function exitCodeOfRun(summary: RunSummary, signal?: NodeJS.Signals): number {
  switch (summary.reason) {
    case 'finished':
      return hasReadNothing(summary) || countKept(summary) < summary.settings.expect.images ? exitCode.expectation : exitCode.done
    case 'limit':
      return exitCode.limit
    case 'blocked':
      return exitCode.blocked
    case 'stopped':
      return exitCodeOfSignal(signal ?? 'SIGINT')
  }
}

/** A script must see that a site has moved or shut it out, also when it expects no number of images. */
export function hasReadNothing({ outcomes }: RunSummary): boolean {
  return !outcomes.some(({ kind, state }) => kind === 'page' && state === 'done')
}

/** Images of this spider that are kept, of all runs. */
export function countKept(summary: RunSummary): number {
  return summary.images.reduce((sum, { status, count }) => sum + (status === 'downloaded' ? count : 0), 0)
}
