import { Wakeup } from '../async/wakeup.ts'
import type { Frontier, Lease } from '../frontier/frontier.ts'
import type { Slots } from '../slots.ts'
import type { Job } from './job.ts'

export interface SchedulerOptions {
  readonly frontier: Frontier
  readonly slots: Slots
  /** Requests leased at once from one slot: 1 unless a slot has no delay. */
  readonly perSlot: number
  /** Ends the crawl when all slots that have work are paused for longer than this, in ms. 0: never. */
  readonly blockedMs: number
}

/**
 * Decides when: hands a leased request to a worker at the moment when its slot may be visited, never before, so that
 * nothing is leased that isn't being fetched. Sleeps until a slot, the frontier or a stop wakes it; nobody polls.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #wakeup = new Wakeup()
  readonly #waiting: ((job: Job | undefined) => void)[] = []
  /** Leased, but their slot closed at that very moment. */
  readonly #held: Lease[] = []
  #seeding: 'running' | 'waiting' | 'done' = 'running'
  #stopped = false
  #blocked = false
  #inProgress = 0

  constructor(options: SchedulerOptions) {
    this.#options = options
    options.slots.onChange(() => this.#wakeup.notify())
  }

  /** True when it has ended because every host that is left asks for patience. */
  get blocked(): boolean {
    return this.#blocked
  }

  /** The next request to fetch; undefined when there is none and none will come. */
  next(): Promise<Job | undefined> {
    if (this.#stopped) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#wakeup.notify()
    })
  }

  /** The worker has settled what it had taken. */
  settled(): void {
    this.#inProgress--
    this.#wakeup.notify()
  }

  /** Requests were added. */
  added(): void {
    this.#wakeup.notify()
  }

  /** Whether start requests are still to come, wait for room, or are all in the frontier. */
  seed(state: 'running' | 'waiting' | 'done'): void {
    this.#seeding = state
    this.#wakeup.notify()
  }

  /** True when there is nothing left to do, and nothing will come. */
  get exhausted(): boolean {
    const { pending, leased } = this.#options.frontier.counts()
    return this.#seeding === 'done' && this.#inProgress === 0 && pending === 0 && leased === 0
  }

  /** Hands out nothing more. */
  stop(): void {
    this.#stopped = true
    this.#wakeup.notify()
  }

  /** Leases that no worker has taken, to be released. */
  unused(): Lease[] {
    return this.#held.splice(0)
  }

  /** Runs until there is no more work or `stop` was called; then every worker that waits gets undefined. */
  async run(): Promise<void> {
    try {
      while (!this.#stopped) {
        const waitMs = await this.#assign()
        if (this.exhausted || this.#isBlocked(waitMs)) break
        await this.#wakeup.sleep(waitMs)
      }
    } finally {
      this.#stopped = true
      for (const resolve of this.#waiting.splice(0)) resolve(undefined)
    }
  }

  /** Gives work to the workers that wait, and answers after how many ms there may be more. */
  async #assign(): Promise<number> {
    const { frontier, slots, perSlot } = this.#options
    this.#assignHeld()
    while (this.#waiting.length > 0 && !this.#stopped) {
      const closed = slots.closed()
      const { leases, waitMs } = await frontier.lease({ limit: this.#waiting.length, perSlot, fullSlots: closed })
      this.#held.push(...leases)
      const assigned = this.#assignHeld()
      if (assigned === 0) return Math.min(waitMs, this.#nextOpening(closed))
    }
    return Infinity
  }

  #assignHeld(): number {
    let assigned = 0
    for (let index = 0; index < this.#held.length && this.#waiting.length > 0 && !this.#stopped; ) {
      const lease = this.#held[index] as Lease
      const visit = this.#options.slots.tryEnter(lease.request.slot)
      if (visit === undefined) {
        index++
        continue
      }
      this.#held.splice(index, 1)
      this.#inProgress++
      assigned++
      this.#waiting.shift()?.({ lease, visit })
    }
    return assigned
  }

  /** ms until the first closed slot that has work opens by itself. */
  #nextOpening(closed: ReadonlySet<string>): number {
    let opensAt = Infinity
    for (const slot of closed) opensAt = Math.min(opensAt, this.#options.slots.readyAt(slot))
    return opensAt === Infinity ? Infinity : Math.max(1, opensAt - Date.now())
  }

  /** Whether nothing can go out for longer than `blockedMs`: all that is left waits for its host or for its next try. */
  #isBlocked(waitMs: number): boolean {
    const { frontier, blockedMs } = this.#options
    if (blockedMs === 0 || this.#seeding === 'running' || this.#inProgress > 0) return false
    if (frontier.counts().pending + this.#held.length === 0 || waitMs <= blockedMs) return false
    this.#blocked = true
    return true
  }
}
