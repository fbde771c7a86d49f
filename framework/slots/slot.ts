import type { HostSettings } from './host-settings.ts'
import type { SlotMemory } from './slot-memory.ts'

/** What is known of one slot: who is in it, what it was asked for, what was learned. All times are ms since 1970. */
export class Slot {
  readonly settings: HostSettings
  active = 0
  pausedUntil = 0
  /** When it was last visited, slowed or paused. */
  touchedAt = 0
  /** From when on the delay since the last start allows another. */
  #nextAt = 0
  /** When its bucket of tokens is full again. */
  #fullAt = 0
  #askedMs = 0
  #learnedMs = 0
  #pauseReason = ''
  #askedReason = ''
  #learnedReason = ''

  constructor(settings: HostSettings) {
    this.settings = settings
  }

  /** The delay in ms that the host asks for; 0: none. */
  get askedMs(): number {
    return this.#askedMs
  }

  /** The delay may not be shorter: the setting, or what the host asks for. */
  get leastDelayMs(): number {
    return Math.max(this.settings.delayMs, this.#askedMs)
  }

  /** ms between the starts of two requests at present. */
  get delayMs(): number {
    return Math.max(this.leastDelayMs, this.#learnedMs)
  }

  /** ms between the starts of two requests when many follow each other. */
  get spacingMs(): number {
    return Math.max(this.delayMs, tokenMs(this.settings))
  }

  /** When it may be visited, were no place taken. */
  get opensAt(): number {
    const tokenAt = this.#fullAt - (this.settings.burst - 1) * tokenMs(this.settings)
    return Math.max(this.#nextAt, this.pausedUntil, tokenAt)
  }

  get readyAt(): number {
    return this.active >= this.settings.concurrency ? Infinity : this.opensAt
  }

  /** Nothing would be lost without it, but what made it slow. */
  isIdle(now: number): boolean {
    return this.active === 0 && this.opensAt <= now && this.#fullAt <= now
  }

  /**
   * Starts a visit. Tokens are counted by the time at which their bucket is full again (the generic cell rate algorithm,
   * ITU-T I.371), so that nothing has to fill it. Answers the function that undoes it, but for the place.
   */
  enter(now: number): () => void {
    const { jitter } = this.settings
    const before = this.#nextAt
    // What a host asks for is the least, so chance may only add to it.
    const after = now + Math.max(this.#askedMs, this.delayMs * (1 + jitter * (2 * Math.random() - 1)))
    const refillMs = tokenMs(this.settings)
    this.active++
    this.#nextAt = after
    if (refillMs > 0) this.#fullAt = Math.max(this.#fullAt, now) + refillMs
    const fullAt = this.#fullAt
    return () => {
      if (this.#nextAt === after) this.#nextAt = before
      // What has come back by itself since isn't given back once more.
      this.#fullAt -= Math.max(0, Math.min(refillMs, fullAt - Date.now()))
    }
  }

  /** Sets what the host asks for. Answers whether the delay has changed. */
  ask(ms: number, reason: string): boolean {
    this.#askedReason = reason
    return this.#change(() => (this.#askedMs = ms))
  }

  /** Sets what was learned; without a reason, the one before stays. Answers whether the delay has changed. */
  learn(ms: number, reason: string | undefined): boolean {
    this.#learnedReason = reason ?? this.#learnedReason
    return this.#change(() => (this.#learnedMs = ms > this.leastDelayMs ? ms : 0))
  }

  pause(until: number, reason: string): void {
    this.pausedUntil = until
    this.#pauseReason = reason
  }

  /** Takes over a memory, where it is slower. What makes it slower than the setting makes its first visit wait. */
  restore(memory: SlotMemory, now: number): void {
    const { delayMs, leastDelayMs, pausedUntil, reason } = memory
    if (delayMs > this.#learnedMs) [this.#learnedMs, this.#learnedReason] = [delayMs, reason]
    if (leastDelayMs > this.#askedMs) [this.#askedMs, this.#askedReason] = [leastDelayMs, reason]
    if (pausedUntil > Math.max(now, this.pausedUntil)) this.pause(pausedUntil, reason)
    if (this.delayMs > this.settings.delayMs) this.#nextAt = Math.max(this.#nextAt, now + this.delayMs)
  }

  memory(slot: string, now: number): SlotMemory {
    return {
      slot,
      delayMs: this.#learnedMs > this.leastDelayMs ? this.#learnedMs : 0,
      leastDelayMs: this.#askedMs > this.settings.delayMs ? this.#askedMs : 0,
      pausedUntil: this.pausedUntil > now ? this.pausedUntil : 0,
      reason: this.reason(now),
    }
  }

  /** Why it is slow at present, if it is. */
  reason(now: number): string {
    if (this.pausedUntil > now) return this.#pauseReason
    if (this.#learnedMs > this.leastDelayMs) return this.#learnedReason
    return this.#askedMs > this.settings.delayMs ? this.#askedReason : ''
  }

  /** A changed delay counts from the last start. */
  #change(set: () => void): boolean {
    const before = this.delayMs
    set()
    this.#nextAt += this.delayMs - before
    return this.delayMs !== before
  }
}

/** ms until a token comes; 0: they aren't counted. */
function tokenMs({ perSecond }: HostSettings): number {
  return perSecond > 0 ? 1000 / perSecond : 0
}
