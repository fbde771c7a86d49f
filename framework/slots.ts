import { CrawlError } from './errors.ts'
import { delay } from './async/signal.ts'

/** A place at a host, taken for one use of a socket. */
export interface Visit {
  readonly slot: string
  /** Gives the place back; the politeness delay goes on from the start. Calling it again changes nothing. */
  end(): void
  /** Gives the place back as if it had never been taken: nothing was sent. */
  cancel(): void
}

export interface SlotState {
  readonly slot: string
  readonly active: number
  readonly delayMs: number
  /** ms since 1970; 0: not paused. */
  readonly pausedUntil: number
  /** Why it is slow, if it is: a status, `crawl-delay`, `latency`. */
  readonly reason: string
}

export interface SlotsOptions {
  readonly concurrency: number
  readonly delayMs: number
  /** Share of the delay by which it is changed at random, 0 to 1. */
  readonly jitter: number
}

interface Slot {
  active: number
  delayMs: number
  nextAt: number
  pausedUntil: number
  reason: string
  /** When it was last visited, slowed or paused; ms since 1970. */
  touchedAt: number
}

/** Slots that hold nothing worth remembering are swept when so many exist, then whenever their number has doubled. */
const minSweepAt = 10_000
/** A slot that was slowed is worth remembering for so long after its last use. */
const slowedIdleMs = 3_600_000

/**
 * Politeness by host: how many requests at once, how far apart, and until when it wants none. One limiter for whatever
 * goes out: the scheduler enters for the first hop of a request, the downloader for redirects and robots.txt.
 */
export class Slots {
  readonly #options: SlotsOptions
  readonly #slots = new Map<string, Slot>()
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #listeners = new Set<(slot: string) => void>()
  readonly #pauseListeners = new Set<(slot: string, until: number) => void>()
  #sweepAt = minSweepAt

  constructor(options: SlotsOptions) {
    this.#options = options
  }

  /** ms since 1970 from which `slot` may be visited; `Infinity` while all its places are taken. */
  readyAt(slot: string): number {
    const state = this.#slots.get(slot)
    if (state === undefined) return 0
    if (state.active >= this.#options.concurrency) return Infinity
    return Math.max(state.nextAt, state.pausedUntil)
  }

  /** Takes a place if one may be taken at this moment. */
  tryEnter(slot: string): Visit | undefined {
    const now = Date.now()
    if (this.readyAt(slot) > now) return undefined
    const state = this.#slot(slot)
    const before = state.nextAt
    state.active++
    const after = now + this.#jittered(state.delayMs)
    state.nextAt = after
    let open = true
    const leave = () => {
      if (!open) return false
      open = false
      state.active--
      state.touchedAt = Date.now()
      this.#changed(slot)
      return true
    }
    return { slot, end: () => void leave(), cancel: () => {
        if (leave() && state.nextAt === after) state.nextAt = before
      } }
  }

  /** Waits for a place. Rejects with the signal's reason when it aborts first. */
  async enter(slot: string, signal: AbortSignal): Promise<Visit> {
    for (;;) {
      const visit = this.tryEnter(slot)
      if (visit !== undefined) return visit
      const readyAt = this.readyAt(slot)
      if (readyAt === Infinity) await this.#freed(slot, signal)
      else await delay(Math.max(1, readyAt - Date.now()), signal)
    }
  }

  /** Milliseconds between the starts of two requests at present. */
  delayOf(slot: string): number {
    return this.#slots.get(slot)?.delayMs ?? this.#options.delayMs
  }

  /** Sets the delay in milliseconds, for example to a Crawl-delay. Never below the setting `slot.delayMs`. */
  setDelay(slot: string, ms: number, reason = ''): void {
    if (!(ms >= 0)) throw new CrawlError('slot', `The delay of ${slot} must be a number of milliseconds, not ${ms}.`)
    const state = this.#slot(slot)
    const before = state.delayMs
    state.delayMs = Math.max(ms, this.#options.delayMs)
    state.nextAt += state.delayMs - before
    state.reason = state.delayMs > this.#options.delayMs ? reason : ''
    this.#changed(slot)
  }

  /** Lets nothing more through before `time` (ms since 1970): a Retry-After. An earlier pause that ends later stays. */
  pauseUntil(slot: string, time: number, reason = ''): void {
    const state = this.#slot(slot)
    if (time <= state.pausedUntil) return
    state.pausedUntil = time
    state.reason = reason
    for (const listener of this.#pauseListeners) listener(slot, time)
    this.#changed(slot)
  }

  /** Slots that are in use, slowed or paused. */
  states(): SlotState[] {
    const now = Date.now()
    return [...this.#slots].map(([slot, { active, delayMs, pausedUntil, reason }]) => {
      return { slot, active, delayMs, pausedUntil: pausedUntil > now ? pausedUntil : 0, reason }
    })
  }

  /** Names of the slots that may not be visited at this moment. */
  closed(): Set<string> {
    const now = Date.now()
    const closed = new Set<string>()
    for (const slot of this.#slots.keys()) if (this.readyAt(slot) > now) closed.add(slot)
    return closed
  }

  /** Is told whenever a slot may have become ready sooner, or is paused. Answers the function that removes it. */
  onChange(listener: (slot: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Is told of every pause, so that it can be kept. Answers the function that removes it. */
  onPause(listener: (slot: string, until: number) => void): () => void {
    this.#pauseListeners.add(listener)
    return () => this.#pauseListeners.delete(listener)
  }

  #slot(name: string): Slot {
    let slot = this.#slots.get(name)
    if (slot === undefined) {
      if (this.#slots.size >= this.#sweepAt) this.#sweep()
      slot = { active: 0, delayMs: this.#options.delayMs, nextAt: 0, pausedUntil: 0, reason: '', touchedAt: 0 }
      this.#slots.set(name, slot)
    }
    slot.touchedAt = Date.now()
    return slot
  }

  #sweep(): void {
    const now = Date.now()
    for (const [name, slot] of this.#slots) {
      const isFree = slot.active === 0 && slot.nextAt <= now && slot.pausedUntil <= now
      const isPlain = slot.delayMs === this.#options.delayMs || Math.max(slot.touchedAt, slot.pausedUntil) <= now - slowedIdleMs
      if (isFree && isPlain) this.#slots.delete(name)
    }
    this.#sweepAt = Math.max(minSweepAt, this.#slots.size * 2)
  }

  #jittered(delayMs: number): number {
    return delayMs * (1 + this.#options.jitter * (2 * Math.random() - 1))
  }

  #changed(name: string): void {
    for (const wake of this.#waiting.get(name) ?? []) wake()
    for (const listener of this.#listeners) listener(name)
  }

  #freed(name: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(name) ?? new Set()
      this.#waiting.set(name, waiting)
      const finish = () => {
        waiting.delete(wake)
        if (waiting.size === 0) this.#waiting.delete(name)
        signal.removeEventListener('abort', stop)
      }
      const wake = () => {
        finish()
        resolve()
      }
      const stop = () => {
        finish()
        reject(signal.reason)
      }
      if (signal.aborted) return stop()
      waiting.add(wake)
      signal.addEventListener('abort', stop, { once: true })
    })
  }
}
