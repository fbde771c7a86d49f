import type { Slots, Visit } from '../slots/slots.ts'
import { ReadAhead, type Row } from './read-ahead.ts'
import { Turns } from './turns.ts'

export interface QueuesOptions {
  readonly slots: Slots
  /** The first pending rows of a slot, in their order. */
  readonly read: (slot: string, limit: number) => Row[]
  /** Of rows of one priority, the one that was added last goes first. */
  readonly isLastFirst: boolean
}

/** One queue a slot: how many requests are pending in each, and which is next of those whose host may be visited. */
export class Queues {
  readonly #slots: Slots
  readonly #turns: Turns
  readonly #ahead: ReadAhead
  readonly #unwatch: () => void

  constructor({ slots, read, isLastFirst }: QueuesOptions) {
    this.#slots = slots
    this.#turns = new Turns((slot) => slots.readyAt(slot))
    this.#ahead = new ReadAhead(read, isLastFirst)
    this.#unwatch = slots.onChange((slot) => this.#turns.changed(slot))
  }

  /** Pending requests of all slots. */
  get size(): number {
    return this.#turns.size
  }

  /** A request of this priority has been added. */
  add(slot: string, priority: number): void {
    this.#turns.add(slot)
    this.#ahead.added(slot, priority)
  }

  /** Requests that were pending before are so again, each in its old place. */
  putBack(slot: string, count = 1): void {
    this.#ahead.drop(slot)
    this.#turns.add(slot, count)
  }

  /** Takes the next request with a place at its host; undefined when none may go out now, or nothing can be read. */
  take(): { readonly row: Row; readonly visit: Visit } | undefined {
    for (let slot = this.#turns.next(); slot !== undefined; slot = this.#turns.next()) {
      const visit = this.#slots.tryEnter(slot)
      if (visit === undefined) continue
      const row = this.#ahead.take(slot)
      if (row === undefined) return void visit.cancel()
      this.#turns.take(slot)
      return { row, visit }
    }
    return undefined
  }

  /** ms since 1970 from which there may be one, as far as time alone decides. */
  nextAt(): number {
    return this.#turns.nextAt()
  }

  close(): void {
    this.#unwatch()
  }
}
