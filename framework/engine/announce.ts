import { isCrawlError } from '../errors.ts'
import type { Lease, Outcome } from '../frontier/frontier.ts'
import type { Log } from '../log.ts'
import type { Signals } from '../signals.ts'
import type { Stats } from '../stats.ts'
import { refusedStatus } from './outcome.ts'

/** Counts how a request has ended, and tells listeners and the log. `error` is what was thrown, if something was. */
export function announce(lease: Lease, outcome: Outcome, error: unknown, to: { stats: Stats; signals: Signals; log: Log }): void {
  const { request } = lease
  const reason = 'reason' in outcome ? outcome.reason : ''
  const isRefused = request.kind === 'image' && outcome.state === 'ignored'
  to.stats.add(`${request.kind}s/${isRefused ? refusedStatus(outcome) : outcome.state}`)
  if (outcome.state === 'failed') {
    to.signals.emit('request_failed', request, reason)
    to.log.warn({ url: request.url, reason, attempt: lease.attempt, ...(isCrawlError(error) ? {} : { error }) }, `${request.kind} failed: ${outcome.message ?? reason} (${request.url})`)
  } else if (outcome.state === 'retry') {
    to.log.info({ url: request.url, reason, afterMs: outcome.afterMs, attempt: lease.attempt }, `${request.kind} will be tried again in ${Math.ceil(outcome.afterMs / 1000)} s: ${reason} (${request.url})`)
  } else if (outcome.state === 'dropped' || outcome.state === 'ignored') {
    if (request.item !== undefined) to.signals.emit('item_dropped', request.item, reason)
    to.log.debug({ url: request.url, reason }, `${request.kind} ${outcome.state}: ${reason} (${request.url})`)
  }
}
