import { LRUCache } from 'lru-cache'
import { isCrawlError, retryAfterMs, type DownloaderMiddleware, type Response } from 'orbweaver'

/** How a slot that refuses has done so lately. */
interface Trouble {
  /** Refusals in a row that came without a Retry-After. */
  refusals: number
  /** performance.now() of the last slowing down: what was sent before it tells nothing new. */
  slowedAt: number
}

const refusals: ReadonlySet<number> = new Set([403, 429, 503])
/** Milliseconds to begin with where the slot has no delay. */
const firstStepMs = 250
/** An answer that begins within so many milliseconds shows no load. */
const idleMs = 50
const recovery = 0.8
const trackedSlots = 50_000

/**
 * Moves the delay of a host by how it answers. 429, 403, 503 and time-outs double it at once; a Retry-After, or a 429 by
 * itself, pauses the host. Slow answers raise it by the time they took, divided by `autothrottle.targetConcurrency`.
 * Good answers lower it step by step, never below the setting or a Crawl-delay; error answers never lower it.
 */
export const autothrottle: DownloaderMiddleware = ({ settings, slots, signal }) => {
  const { enabled, targetConcurrency, maxDelayMs } = settings.autothrottle
  const { backoffMs, maxBackoffMs } = settings.retry
  const { timeout } = settings
  const troubles = new LRUCache<string, Trouble>({ max: trackedSlots })

  const troubleOf = (slot: string): Trouble => {
    const name = slots.nameOf(slot)
    const trouble = troubles.get(name) ?? { refusals: 0, slowedAt: -Infinity }
    troubles.set(name, trouble)
    return trouble
  }

  const move = (slot: string, delayMs: number, reason?: string): void => {
    const wanted = Math.max(slots.leastDelayOf(slot), Math.round(Math.min(delayMs, maxDelayMs)))
    if (enabled && wanted !== slots.delayOf(slot)) slots.setDelay(slot, wanted, reason)
  }

  /** Answers whether a request of this age tells anything new: those sent together are refused together, and count once. */
  const slowDown = (slot: string, trouble: Trouble, reason: string, ageMs: number): boolean => {
    const now = performance.now()
    if (now - ageMs <= trouble.slowedAt) return false
    trouble.slowedAt = now
    move(slot, Math.max(slots.delayOf(slot) * 2, firstStepMs), reason)
    return true
  }

  const refused = (slot: string, { status, headers, timing }: Response): void => {
    const trouble = troubleOf(slot)
    const reason = `http ${status}`
    const isNews = slowDown(slot, trouble, reason, timing.totalMs)
    const asked = retryAfterMs({ headers })
    if (asked !== undefined) slots.pauseUntil(slot, Date.now() + Math.min(asked, maxBackoffMs * 10), reason)
    else if (status === 429 && isNews) {
      slots.pauseUntil(slot, Date.now() + Math.min(backoffMs * 2 ** trouble.refusals, maxBackoffMs), reason)
      trouble.refusals = Math.min(trouble.refusals + 1, 30)
    }
  }

  const answered = (slot: string, { status, timing }: Response): void => {
    const delayMs = slots.delayOf(slot)
    const target = timing.firstByteMs <= idleMs ? 0 : timing.firstByteMs / targetConcurrency
    const average = Math.max(target, (delayMs + target) / 2)
    if (average > delayMs) return move(slot, average, 'latency')
    if (status >= 400) return
    const trouble = troubles.get(slots.nameOf(slot))
    if (trouble !== undefined) trouble.refusals = 0
    const least = slots.leastDelayOf(slot)
    const eased = Math.max(average, delayMs * recovery)
    move(slot, eased < least + 1 ? least : eased)
  }

  return async function autothrottle(request, next) {
    const { slot } = request
    try {
      const response = await next(request)
      if (refusals.has(response.status)) refused(slot, response)
      else answered(slot, response)
      return response
    } catch (error) {
      const timedOut = !signal.aborted && isCrawlError(error, 'download') && error.reason === 'timeout'
      if (timedOut) slowDown(slot, troubleOf(slot), 'timeout', Math.min(timeout.connectMs, timeout.firstByteMs))
      throw error
    }
  }
}
