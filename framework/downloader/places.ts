import { createAbortController } from '../async/signal.ts'
import { RetryRequest } from '../errors.ts'
import type { Slots, Visit } from '../slots/slots.ts'

/** The visit that a request came with, until its first use of a socket. */
export interface Held {
  /** The own name of the slot that the visit is at. */
  readonly slot: string
  visit: Visit | undefined
}

type Give = (visit: Visit) => void

/** One that was taken longer ago than this stands for no visit any more. */
const freshMs = 100
/** A pause that is so much longer than the time between two visits is waited for by the frontier: here it would keep a worker. */
const patienceMs = 10_000

/**
 * Places at hosts for everything that opens a socket. A request brings the visit that the scheduler entered for it; every
 * further hop, and robots.txt, waits for a place of its own.
 *
 * Requests may wait for each other, as all of a host do for its robots.txt, and hold their visits meanwhile. So that the
 * one that is waited for can't be kept out by those that wait: it gets their places, and each new visit while it waits.
 */
export class Places {
  readonly #slots: Slots
  readonly #signal: AbortSignal
  readonly #idle = new Map<string, Set<Held>>()
  readonly #waiting = new Map<string, Give[]>()

  constructor(slots: Slots, signal: AbortSignal) {
    this.#slots = slots
    this.#signal = signal
  }

  /** Keeps a new request's visit for it, or hands it to who has waited for longer. */
  hold(visit: Visit): Held {
    const { slot } = visit
    const held: Held = { slot, visit }
    const give = this.#waiting.get(slot)?.[0]
    if (give === undefined) add(this.#idle, slot, new Set<Held>()).add(held)
    else {
      held.visit = undefined
      if (this.#isFresh(visit)) give(visit)
      else visit.cancel()
    }
    return held
  }

  /**
   * A place for one use of a socket: the held visit, if it is of this slot and fresh, else the next that comes free. Two
   * hosts may share a slot.
   * @throws RetryRequest `host paused` when the host wants no visit for long, after a 429 for example.
   */
  async take(wanted: string, held: Held): Promise<Visit> {
    const slot = this.#slots.nameOf(wanted)
    if (held.slot === slot) {
      const visit = this.#release(held)
      if (visit !== undefined) {
        if (this.#isFresh(visit)) return visit
        visit.cancel()
      }
    }
    if (this.#slots.readyAt(slot) === Infinity) this.#freeIdle(slot)
    const paused = this.#paused(slot)
    if (paused !== undefined) throw paused
    return this.#slots.tryEnter(slot) ?? this.#wait(slot)
  }

  /** Ends a request: a visit that it has not used goes back. */
  drop(held: Held): void {
    this.#release(held)?.cancel()
  }

  #isFresh({ slot, enteredAt }: Visit): boolean {
    return performance.now() - enteredAt < freshMs || this.#slots.spacingOf(slot) === 0
  }

  #paused(slot: string): RetryRequest | undefined {
    const afterMs = this.#slots.readyAt(slot) - Date.now()
    if (afterMs === Infinity || afterMs <= 2 * this.#slots.spacingOf(slot) + patienceMs) return undefined
    const message = `${slot} is visited again in ${Math.ceil(afterMs / 1000)} s; a further hop of this request has to wait.`
    return new RetryRequest('host paused', { afterMs, counted: false, message })
  }

  #freeIdle(slot: string): void {
    for (const idle of this.#idle.get(slot) ?? []) return this.#release(idle)?.cancel()
  }

  #release(held: Held): Visit | undefined {
    const { slot, visit } = held
    if (visit === undefined) return undefined
    held.visit = undefined
    const idle = this.#idle.get(slot)
    idle?.delete(held)
    if (idle?.size === 0) this.#idle.delete(slot)
    return visit
  }

  #wait(slot: string): Promise<Visit> {
    return new Promise((resolve, reject) => {
      const signal = this.#signal
      if (signal.aborted) return reject(signal.reason)
      const controller = createAbortController()
      const waiting = add(this.#waiting, slot, [])
      let over = false
      const finish = (): void => {
        over = true
        unwatch()
        signal.removeEventListener('abort', stop)
        waiting.splice(waiting.indexOf(give), 1)
        if (waiting.length === 0) this.#waiting.delete(slot)
      }
      const give: Give = (visit) => {
        finish()
        controller.abort()
        resolve(visit)
      }
      const fail = (error: unknown): void => {
        finish()
        controller.abort()
        reject(error)
      }
      const stop = (): void => fail(signal.reason)
      const unwatch = this.#slots.onChange((changed) => {
        const paused = changed === slot ? this.#paused(slot) : undefined
        if (paused !== undefined) fail(paused)
      })
      waiting.push(give)
      signal.addEventListener('abort', stop, { once: true })
      this.#slots.enter(slot, controller.signal).then(
        (visit) => {
          if (over) return visit.cancel()
          finish()
          return resolve(visit)
        },
        (error: unknown) => {
          if (over) return
          finish()
          reject(error)
        },
      )
    })
  }
}

function add<Value>(map: Map<string, Value>, key: string, empty: Value): Value {
  const value = map.get(key) ?? empty
  map.set(key, value)
  return value
}
