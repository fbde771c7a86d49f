import { Wakeup } from '../async/wakeup.ts'
import type { Frontier, Lease } from '../frontier/frontier.ts'
import type { Slots } from '../slots/slots.ts'

export interface SchedulerOptions {
  readonly frontier: Frontier
  readonly slots: Slots
  /** Ends the crawl when all that is left has to wait for longer than this, in ms. 0: never. */
  readonly blockedMs: number
}

/**
 * Hands requests to workers as the frontier leases them: at the moment when a slot may be visited, never before, so that
 * nothing is leased that isn't being fetched. Sleeps until a slot, the frontier or a stop wakes it; nobody polls.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #wakeup = new Wakeup()
  readonly #waiting: ((lease: Lease | undefined) => void)[] = []
  /** Leased at the very moment when the crawl was stopped. */
  readonly #unused: Lease[] = []
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
  next(): Promise<Lease | undefined> {
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
    return this.#unused.splice(0)
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
    while (this.#waiting.length > 0 && !this.#stopped) {
      const { leases, waitMs } = await this.#options.frontier.lease(this.#waiting.length)
      for (const lease of leases) this.#hand(lease)
      if (leases.length === 0) return waitMs
    }
    return Infinity
  }

  #hand(lease: Lease): void {
    if (this.#stopped) {
      lease.visit.cancel()
      this.#unused.push(lease)
      return
    }
    this.#inProgress++
    this.#waiting.shift()?.(lease)
  }

  /** Whether nothing can go out for longer than `blockedMs`: all that is left waits for its host or for its next try. */
  #isBlocked(waitMs: number): boolean {
    const { frontier, blockedMs } = this.#options
    if (blockedMs === 0 || this.#seeding === 'running' || this.#inProgress > 0) return false
    if (frontier.counts().pending === 0 || waitMs <= blockedMs) return false
    this.#blocked = true
    return true
  }
}
