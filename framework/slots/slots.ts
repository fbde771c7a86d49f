import { CrawlError } from '../errors.ts'
import { delay } from '../async/signal.ts'
import { hostSettings, type HostSettings, type SlotsOptions } from './host-settings.ts'
import { SlotMemories, type SlotMemory } from './slot-memory.ts'
import { slotNames } from './slot-names.ts'
import { Slot } from './slot.ts'

export type { SlotMemory } from './slot-memory.ts'

/** A place at a host, taken for one use of a socket. */
export interface Visit {
  /** The slot's own name: `Slots.nameOf` of what was asked for. */
  readonly slot: string
  /** When the place was taken, by performance.now(). */
  readonly enteredAt: number
  /** Gives the place back; the politeness delay goes on from the start. Calling it again changes nothing. */
  end(): void
  /** Gives the place back as if it had never been taken, delay and token too: nothing was sent. */
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

/** Slots that hold nothing worth remembering are swept when so many exist, then whenever their number has doubled. */
const minSweepAt = 10_000
/** A slot that was slowed is worth remembering for so long after its last use. */
const slowedIdleMs = 3_600_000

/** Timers hold 2^31-1 ms; of more they make 1 ms. */
const maxTimerMs = 2 ** 31 - 1

/**
 * Politeness by host or domain: how many requests at once, how far apart, how many a second, and until when it wants none.
 * One limiter for whatever goes out: the scheduler enters for the first hop of a request, the downloader for redirects and
 * robots.txt. Every method takes the slot of a request and finds the one that it shares.
 */
export class Slots {
  /** What shares a slot. */
  readonly by: SlotsOptions['slot']['by']
  readonly #nameOf: (slot: string) => string
  readonly #settingsOf: (name: string) => HostSettings
  readonly #slots = new Map<string, Slot>()
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #listeners = new Set<(slot: string) => void>()
  readonly #memories: SlotMemories
  readonly #learns: boolean
  readonly #onLeft = (name: string): void => this.#changed(name)
  #sweepAt = minSweepAt

  /** @throws SettingsError for a name in `hosts` that can fit nothing. */
  constructor(options: SlotsOptions) {
    this.by = options.slot.by
    this.#learns = options.autothrottle?.enabled ?? true
    this.#nameOf = slotNames(options.slot.by)
    this.#settingsOf = hostSettings(options)
    this.#memories = new SlotMemories((name) => this.#memoryOf(name))
  }

  /** The name of the slot that a request's slot shares: itself in lower case or, by domain, its registrable domain. */
  nameOf(slot: string): string {
    return this.#nameOf(slot)
  }

  /** ms since 1970 from which `slot` may be visited; `Infinity` while all its places are taken. */
  readyAt(slot: string): number {
    return this.#slots.get(this.#nameOf(slot))?.readyAt ?? 0
  }

  /** Takes a place if one may be taken at this moment. */
  tryEnter(slot: string): Visit | undefined {
    const now = Date.now()
    const name = this.#nameOf(slot)
    if ((this.#slots.get(name)?.readyAt ?? 0) > now) return undefined
    const state = this.#slot(name)
    if (state.pausedUntil !== 0) {
      state.pausedUntil = 0
      this.#memories.changed(name)
    }
    return new SlotVisit(name, state, state.enter(now), this.#onLeft)
  }

  /** Waits for a place. Rejects with the signal's reason when it aborts first. */
  async enter(slot: string, signal: AbortSignal): Promise<Visit> {
    for (;;) {
      const visit = this.tryEnter(slot)
      if (visit !== undefined) return visit
      const readyAt = this.readyAt(slot)
      if (readyAt === Infinity) await this.#freed(this.#nameOf(slot), signal)
      else await delay(Math.min(Math.max(1, readyAt - Date.now()), maxTimerMs), signal)
    }
  }

  /** Milliseconds between the starts of two requests at present. */
  delayOf(slot: string): number {
    const name = this.#nameOf(slot)
    return this.#slots.get(name)?.delayMs ?? this.#settingsOf(name).delayMs
  }

  /** Milliseconds that the delay never goes below: the setting, or what the host asks for. */
  leastDelayOf(slot: string): number {
    const name = this.#nameOf(slot)
    return this.#slots.get(name)?.leastDelayMs ?? this.#settingsOf(name).delayMs
  }

  /** Milliseconds between the starts of two requests when many follow each other: the delay, or what `perSecond` leaves. */
  spacingOf(slot: string): number {
    const name = this.#nameOf(slot)
    return (this.#slots.get(name) ?? new Slot(this.#settingsOf(name))).spacingMs
  }

  /**
   * Sets the delay in milliseconds by what was learned of the host. Never below `leastDelayOf`, which takes it back.
   * @param reason why it is slow; left out, the one before stays.
   * @throws CrawlError `slot` when `ms` is no number of milliseconds.
   */
  setDelay(slot: string, ms: number, reason?: string): void {
    checkDelay(slot, ms)
    const name = this.#nameOf(slot)
    const hasChanged = this.#slot(name).learn(ms, reason)
    this.#memories.changed(name)
    if (hasChanged) this.#changed(name)
  }

  /**
   * Sets the delay in milliseconds that the host asks for, such as a Crawl-delay; 0: none. Where it is asked for already,
   * nothing changes.
   * @throws CrawlError `slot` when `ms` is no number of milliseconds.
   */
  setLeastDelay(slot: string, ms: number, reason = ''): void {
    checkDelay(slot, ms)
    const name = this.#nameOf(slot)
    const known = this.#slots.get(name)
    if (ms === (known?.askedMs ?? 0)) return
    const hasChanged = this.#slot(name).ask(ms, reason)
    this.#memories.changed(name)
    if (hasChanged) this.#changed(name)
  }

  /** Lets nothing more through before `time` (ms since 1970): a Retry-After. An earlier pause that ends later stays. */
  pauseUntil(slot: string, time: number, reason = ''): void {
    const name = this.#nameOf(slot)
    const state = this.#slot(name)
    if (!(time > state.pausedUntil)) return
    state.pause(time, reason)
    this.#memories.tell(name)
    this.#changed(name)
  }

  /** Gives back what an earlier process knew. A slot that is slower than the setting waits one delay before its first visit. */
  restore(memories: Iterable<SlotMemory>): void {
    const now = Date.now()
    for (const memory of memories) {
      const name = this.#nameOf(memory.slot)
      this.#slot(name).restore(this.#learns ? memory : { ...memory, delayMs: 0 }, now)
      this.#memories.restored(memory, name)
      this.#changed(name)
    }
  }

  /** Slots that are in use, slowed or paused. */
  states(): SlotState[] {
    const now = Date.now()
    return [...this.#slots].map(([slot, state]) => {
      const { active, delayMs, pausedUntil } = state
      return { slot, active, delayMs, pausedUntil: pausedUntil > now ? pausedUntil : 0, reason: state.reason(now) }
    })
  }

  /**
   * Is told the own name of a slot whenever it may have become ready sooner or later than it was, but for a visit's start.
   * Answers the function that removes it.
   */
  onChange(listener: (slot: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Is told what the next process should know: of a pause at once, of delays at most once a second a slot, and with zeros
   * when there is nothing to know any more. It must not throw. Answers the function that removes it.
   */
  onMemory(listener: (memory: SlotMemory) => void): () => void {
    return this.#memories.onMemory(listener)
  }

  /** Tells `onMemory` at once what it is still to be told: at the end of a crawl. */
  flush(): void {
    this.#memories.flush()
  }

  #slot(name: string): Slot {
    let slot = this.#slots.get(name)
    if (slot === undefined) {
      if (this.#slots.size >= this.#sweepAt) this.#sweep()
      slot = new Slot(this.#settingsOf(name))
      this.#slots.set(name, slot)
    }
    slot.touchedAt = Date.now()
    return slot
  }

  #memoryOf(slot: string): SlotMemory {
    const state = this.#slots.get(slot)
    return state?.memory(slot, Date.now()) ?? { slot, delayMs: 0, leastDelayMs: 0, pausedUntil: 0, reason: '' }
  }

  #sweep(): void {
    const now = Date.now()
    for (const [name, slot] of this.#slots) {
      const isPlain = slot.delayMs === slot.settings.delayMs || Math.max(slot.touchedAt, slot.pausedUntil) <= now - slowedIdleMs
      if (!isPlain || !slot.isIdle(now)) continue
      this.#slots.delete(name)
      this.#memories.forgotten(name)
    }
    this.#sweepAt = Math.max(minSweepAt, this.#slots.size * 2)
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

function checkDelay(slot: string, ms: number): void {
  if (Number.isFinite(ms) && ms >= 0) return
  throw new CrawlError('slot', `The delay of ${slot} must be a number of milliseconds, not ${ms}.`)
}

class SlotVisit implements Visit {
  readonly slot: string
  readonly enteredAt = performance.now()
  readonly #state: Slot
  readonly #undo: () => void
  readonly #onLeft: (name: string) => void
  #isOpen = true

  constructor(slot: string, state: Slot, undo: () => void, onLeft: (name: string) => void) {
    this.slot = slot
    this.#state = state
    this.#undo = undo
    this.#onLeft = onLeft
  }

  end(): void {
    this.#leave(true)
  }

  cancel(): void {
    this.#leave(false)
  }

  #leave(isUsed: boolean): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#state.active--
    if (!isUsed) this.#undo()
    this.#state.touchedAt = Date.now()
    this.#onLeft(this.slot)
  }
}
