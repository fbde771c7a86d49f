import { LRUCache } from 'lru-cache'
import { isCrawlError, retryAfterMs, type DownloaderMiddleware, type Response } from 'orbweaver'

/** How fast a slot is visited. */
interface Pace {
  /** What was set here last. Another value in the slot was set by somebody else, such as robots.txt, and is the new floor. */
  delayMs: number
  floorMs: number
  /** Refusals in a row that came without a Retry-After. */
  refusals: number
  /** performance.now() of the last slowing down: what was sent before it tells nothing new. */
  slowedAt: number
  /** What made it slow. */
  reason: string
}

const refusals: ReadonlySet<number> = new Set([403, 429, 503])
/** Milliseconds to begin with where the slot has no delay. */
const firstStepMs = 250
/** An answer that begins within so many milliseconds shows no load. */
const idleMs = 50
const recovery = 0.8
const trackedSlots = 10_000

/**
 * Moves the delay of a host by how it answers. 429, 403, 503 and time-outs double it at once; a Retry-After, or a 429 by
 * itself, pauses the host. Slow answers raise it by the time they took, divided by `autothrottle.targetConcurrency`.
 * Good answers lower it step by step, never below `slot.delayMs` or a Crawl-delay; error answers never lower it.
 */
export const autothrottle: DownloaderMiddleware = ({ settings, slots, signal }) => {
  const { enabled, targetConcurrency, maxDelayMs } = settings.autothrottle
  const { backoffMs, maxBackoffMs } = settings.retry
  const { timeout } = settings
  const paces = new LRUCache<string, Pace>({ max: trackedSlots })

  const paceOf = (slot: string): Pace => {
    const delayMs = slots.delayOf(slot)
    const known = paces.get(slot)
    if (known?.delayMs === delayMs) return known
    const pace = { refusals: 0, slowedAt: -Infinity, reason: '', ...known, delayMs, floorMs: delayMs }
    paces.set(slot, pace)
    return pace
  }

  const move = (slot: string, pace: Pace, delayMs: number, reason: string): void => {
    const wanted = Math.round(Math.max(pace.floorMs, Math.min(delayMs, maxDelayMs)))
    pace.reason = reason
    if (!enabled || wanted === pace.delayMs) return
    slots.setDelay(slot, wanted, reason)
    pace.delayMs = slots.delayOf(slot)
  }

  /** Answers whether a request of this age tells anything new: those sent together are refused together, and count once. */
  const slowDown = (slot: string, pace: Pace, reason: string, ageMs: number): boolean => {
    const now = performance.now()
    if (now - ageMs <= pace.slowedAt) return false
    pace.slowedAt = now
    move(slot, pace, Math.max(pace.delayMs * 2, settings.slot.delayMs, firstStepMs), reason)
    return true
  }

  const refused = (slot: string, pace: Pace, response: Response): void => {
    const { status, timing } = response
    const reason = `http ${status}`
    const isNews = slowDown(slot, pace, reason, timing.totalMs)
    const asked = retryAfterMs(response)
    if (asked !== undefined) slots.pauseUntil(slot, Date.now() + Math.min(asked, maxBackoffMs * 10), reason)
    else if (status === 429 && isNews) {
      slots.pauseUntil(slot, Date.now() + Math.min(backoffMs * 2 ** pace.refusals, maxBackoffMs), reason)
      pace.refusals = Math.min(pace.refusals + 1, 30)
    }
  }

  const answered = (slot: string, pace: Pace, { status, timing }: Response): void => {
    const target = timing.firstByteMs <= idleMs ? 0 : timing.firstByteMs / targetConcurrency
    const average = Math.max(target, (pace.delayMs + target) / 2)
    if (average > pace.delayMs) return move(slot, pace, average, 'latency')
    if (status >= 400) return
    pace.refusals = 0
    const eased = Math.max(average, pace.delayMs * recovery)
    move(slot, pace, eased < pace.floorMs + 1 ? pace.floorMs : eased, pace.reason)
  }

  return async function autothrottle(request, next) {
    const { slot } = request
    try {
      const response = await next(request)
      if (refusals.has(response.status)) refused(slot, paceOf(slot), response)
      else answered(slot, paceOf(slot), response)
      return response
    } catch (error) {
      const timedOut = !signal.aborted && isCrawlError(error, 'download') && error.reason === 'timeout'
      if (timedOut) slowDown(slot, paceOf(slot), 'timeout', Math.min(timeout.connectMs, timeout.firstByteMs))
      throw error
    }
  }
}
