import { isCrawlError, messageOf, type DownloadError, type RetryRequest } from '../errors.ts'
import type { Lease, Outcome } from '../frontier/frontier.ts'
import type { KnownImage, Refusal } from '../store/store.ts'

export interface RetryRules {
  /** Tries after the first. */
  readonly attempts: number
  readonly backoffMs: number
  readonly maxBackoffMs: number
}

/** A host that asks for patience again and again isn't asked more often than this. */
const maxPatience = 100

/** Turns whatever was thrown while a request was worked on into how its lease ends: the only place where that is decided. */
export function outcomeOf(error: unknown, lease: Lease, rules: RetryRules, aborted: boolean): Outcome {
  if (aborted) return { state: 'released' }
  if (!isCrawlError(error)) return { state: 'failed', reason: 'error', message: messageOf(error) }
  const { reason, message } = error
  switch (error.code) {
    case 'ignore':
      return { state: 'ignored', reason, message }
    case 'drop':
      return { state: 'dropped', reason, message }
    case 'image':
      return reason === 'empty' ? retryOutcome(lease, rules, reason, message) : { state: 'ignored', reason, message }
    case 'retry': {
      const { afterMs, counted } = error as RetryRequest
      return retryOutcome(lease, rules, reason, message, afterMs, counted)
    }
    case 'download':
      return (error as DownloadError).transient ? retryOutcome(lease, rules, reason, message) : { state: 'failed', reason, message }
    default:
      return { state: 'failed', reason, message }
  }
}

function retryOutcome(lease: Lease, rules: RetryRules, reason: string, message: string, afterMs?: number, counted = true): Outcome {
  const isLast = counted ? lease.attempt > rules.attempts : lease.patience >= maxPatience
  if (isLast) return { state: 'failed', reason, message }
  const backoffMs = Math.min(rules.backoffMs * 2 ** (lease.attempt - 1 + lease.patience), rules.maxBackoffMs)
  return { state: 'retry', reason, afterMs: afterMs ?? backoffMs, counted }
}

/** Refusals that hold for all later runs: the address is gone, or its bytes are no image that could be kept. */
const settledReasons = new Set(['http 404', 'http 410', 'not an image', 'unsupported format', 'truncated', 'broken', 'too many pixels', 'redirect loop', 'bad redirect'])

/** What the store remembers of an image that isn't kept; undefined when its request isn't over. */
export function refusalOf(url: string, outcome: Outcome, attempts: number): Refusal | undefined {
  if (outcome.state === 'done' || outcome.state === 'retry' || outcome.state === 'released') return undefined
  const { reason } = outcome
  return {
    url,
    status: refusedStatus(outcome),
    reason,
    message: outcome.message ?? reason,
    attempts,
    settled: outcome.state === 'dropped' || settledReasons.has(reason),
  }
}

/** How the request of an image ended that has such a row, and needs no download for it: the reverse of `refusalOf`. */
export function recalledOutcome({ status, reason }: Pick<KnownImage, 'status' | 'reason'>): Outcome {
  if (status === 'downloaded' || status === 'duplicate') return { state: 'done' }
  return { state: status === 'dropped' ? 'dropped' : 'ignored', reason }
}

/** What is not wanted is dropped, also by robots.txt; what is not to be had has failed. */
export function refusedStatus({ state, reason }: { readonly state: string; readonly reason: string }): Refusal['status'] {
  return state === 'dropped' || reason === 'robots' ? 'dropped' : 'failed'
}
