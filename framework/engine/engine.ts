import { CrawlError, isCrawlError, messageOf, SettingsError } from '../errors.ts'
import { Wakeup } from '../async/wakeup.ts'
import type { Frontier } from '../frontier/frontier.ts'
import { Request } from '../http/request.ts'
import { isWeb } from '../http/url.ts'
import type { Log } from '../log.ts'
import type { EndReason } from '../signals.ts'
import type { Spider } from '../spider.ts'
import type { Limits } from './limits.ts'
import type { Scheduler } from './scheduler.ts'
import { Worker, type WorkerOptions } from './worker.ts'

export interface EngineOptions extends WorkerOptions {
  readonly scheduler: Scheduler
  readonly frontier: Frontier
  readonly spider: Spider<any>
  readonly limits: Limits
  /** Number of workers. */
  readonly concurrency: number
  readonly log: Log
  /** Asks for a graceful end: no new work. */
  readonly stopping: AbortSignal
}

/** Start requests are taken while the frontier holds fewer than this, and written so many at a time. */
const maxPending = 1_000
const seedBatch = 100

/** Runs a crawl: N equal workers, and the start requests that feed them. */
export class Engine {
  readonly #options: EngineOptions
  readonly #demand = new Wakeup()

  constructor(options: EngineOptions) {
    this.#options = options
  }

  /** Settled requests make room for start requests. */
  settled(): void {
    this.#demand.notify()
  }

  /** Resolves when all work is done, or what was in progress has ended after a stop. Rejects when the store or the frontier is gone. */
  async run(): Promise<EndReason> {
    const { scheduler, frontier, limits, stopping, concurrency, signal, log } = this.#options
    const stop = () => {
      scheduler.stop()
      this.#demand.notify()
    }
    stopping.addEventListener('abort', stop, { once: true })
    if (stopping.aborted) stop()
    const workers = Array.from({ length: concurrency }, async () => {
      try {
        await new Worker(this.#options).run()
      } catch (error) {
        stop()
        throw error
      }
    })
    const seeding = this.#seed().catch((error: unknown) => {
      log.error({ error }, `start() failed: ${messageOf(error)}`)
      scheduler.seeded()
      return error
    })
    try {
      const ends = await Promise.allSettled([scheduler.run(), ...workers])
      stop()
      const seedError = await seeding
      const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
      if (errors.length > 0) throw errors.find((error) => isCrawlError(error)) ?? errors[0]
      if (seedError !== undefined) throw seedError
      await frontier.settle(scheduler.unused().map((lease) => ({ lease, outcome: { state: 'released' } })))
      if (limits.reached !== undefined) return 'limit'
      if (stopping.aborted || signal.aborted) return 'stopped'
      return scheduler.blocked ? 'blocked' : 'finished'
    } finally {
      stopping.removeEventListener('abort', stop)
    }
  }

  /** Takes start requests as they are needed. A resumed run begins them again: what it has met already changes nothing. */
  async #seed(): Promise<void> {
    const { scheduler, frontier, spider, stopping } = this.#options
    if (!frontier.started) {
      const batch: Request[] = []
      try {
        for await (const request of spider.start()) {
          if (stopping.aborted) return
          if (!Request.is(request)) throw new CrawlError('start', `start() yielded ${String(request)}, which is no Request.`)
          batch.push(request)
          if (batch.length < seedBatch) continue
          await this.#add(batch.splice(0))
          while (frontier.counts().pending > maxPending && !stopping.aborted) await this.#demand.sleep(Infinity)
        }
      } finally {
        await this.#add(batch)
      }
      if (stopping.aborted) return
      await frontier.mark('started')
    }
    scheduler.seeded()
  }

  async #add(requests: readonly Request[]): Promise<void> {
    await this.#options.frontier.add(requests)
    this.#options.scheduler.added()
  }
}

/** @throws SettingsError when a spider has nothing to begin with, or a start URL that can't be fetched. */
export function checkSpider(spider: Spider<any>, name: string): void {
  const hasOwnStart = Object.getPrototypeOf(spider)?.start !== Object.getPrototypeOf(Object.getPrototypeOf(spider))?.start
  if (spider.startUrls.length === 0 && !hasOwnStart) {
    throw new SettingsError(`The spider "${name}" has no startUrls and no start(): it has nowhere to begin.`)
  }
  for (const url of spider.startUrls) {
    if (!URL.canParse(url) || !isWeb(new URL(url).protocol)) throw new SettingsError(`The spider "${name}" begins at "${url}", which is no http or https URL.`)
  }
}
