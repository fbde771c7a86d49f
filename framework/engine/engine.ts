import { setImmediate } from 'node:timers/promises'
import { CrawlError, isCrawlError, messageOf, SettingsError } from '../errors.ts'
import { Wakeup } from '../async/wakeup.ts'
import type { Frontier, NewRequest } from '../frontier/frontier.ts'
import { Request } from '../http/request.ts'
import { isWeb } from '../http/url.ts'
import type { Log } from '../log.ts'
import type { EndReason } from '../signals.ts'
import type { Spider } from '../spider.ts'
import type { Admission } from './admission.ts'
import { checkJson } from './check-json.ts'
import type { Limits } from './limits.ts'
import type { Scheduler } from './scheduler.ts'
import { Worker, type WorkerOptions } from './worker.ts'

export interface EngineOptions extends WorkerOptions {
  readonly scheduler: Scheduler
  readonly frontier: Frontier
  readonly admission: Admission
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
const seedWaitMs = 50
/** Where so many were known, the position is written too, and everything else gets its turn. */
const seedPositions = 10_000

/** Runs a crawl: N equal workers, and the start requests that feed them. */
export class Engine {
  readonly #options: EngineOptions
  readonly #demand = new Wakeup()
  #isStopped = false
  /** True while the spider's start() runs. */
  #isInStart = false
  #leave = (): void => {}

  constructor(options: EngineOptions) {
    this.#options = options
  }

  /** Settled requests make room for start requests. */
  settled(): void {
    this.#demand.notify()
  }

  /** Resolves when all work is done, or what was in progress has ended after a stop. Rejects when the store or the frontier is gone. */
  async run(): Promise<EndReason> {
    const { scheduler, frontier, stopping, concurrency } = this.#options
    const stop = () => this.#stop()
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
    const seeding = this.#seed()
    try {
      const ends = await Promise.allSettled([scheduler.run().finally(stop), ...workers, this.#leftBehind(seeding)])
      const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
      if (errors.length > 0) {
        const error = errors.find((each) => isCrawlError(each)) ?? errors[0]
        // What can't be written now was not written before either: the next start finds it as after a kill.
        await frontier.end('failed', false).catch(() => undefined)
        throw error
      }
      await frontier.settle(scheduler.unused().map((lease) => ({ lease, outcome: { state: 'released' } })))
      const reason = this.#reason()
      await frontier.end(reason, scheduler.exhausted)
      return reason
    } finally {
      stopping.removeEventListener('abort', stop)
    }
  }

  #reason(): EndReason {
    const { limits, stopping, signal, scheduler } = this.#options
    // With the last request, nothing was left to be stopped.
    if (limits.reached !== undefined && !scheduler.exhausted) return 'limit'
    if (limits.reached === undefined && (stopping.aborted || signal.aborted)) return 'stopped'
    return scheduler.blocked ? 'blocked' : 'finished'
  }

  #stop(): void {
    this.#isStopped = true
    this.#options.scheduler.stop()
    this.#demand.notify()
    if (this.#isInStart) this.#leave()
  }

  /** Waits for the start requests, unless the crawl is stopped while start() waits for something: that may never come. */
  #leftBehind(seeding: Promise<void>): Promise<void> {
    return Promise.race([seeding, new Promise<void>((resolve) => (this.#leave = resolve))])
  }

  async #seed(): Promise<void> {
    const { scheduler, frontier, log } = this.#options
    try {
      if (!frontier.job.started) {
        // A crawl that is stopped before has start requests left: it has not ended, whatever else is done.
        if (!(await this.#readStart())) return
        await frontier.markStarted()
      }
      scheduler.seed('done')
    } catch (error) {
      log.error({ error }, `start() failed: ${messageOf(error)}`)
      scheduler.seed('done')
      throw error
    }
  }

  /**
   * Takes start requests as they are needed, and answers whether all were taken. A resumed run begins them again: what it
   * has met changes nothing, and what isn't to be filtered counts as met up to the position that was reached before. So a
   * start() that gives others than before loses none.
   */
  async #readStart(): Promise<boolean> {
    const { spider, frontier, admission } = this.#options
    const batch: NewRequest[] = []
    let position = 0
    let timer: NodeJS.Timeout | undefined
    let late: Promise<void> | undefined
    // What a slow start() has given isn't kept waiting for what it will give.
    const addLate = () => {
      late = this.#isStopped ? undefined : this.#add(batch.splice(0), position)
      late?.catch(() => undefined)
    }
    const requests = spider.start()
    try {
      while (!this.#isStopped) {
        this.#isInStart = true
        const { done, value } = await requests.next()
        this.#isInStart = false
        await late
        if (this.#isStopped) return false
        if (done === true) return true
        if (!Request.is(value)) throw new CrawlError('start', `start() yielded ${String(value)}, which is no Request.`)
        checkJson(value.meta, `The meta of the start request for ${value.url}`)
        position++
        const isTaken = value.dontFilter && position <= frontier.job.position
        const admitted = isTaken ? undefined : admission.admit(value)
        if (admitted !== undefined && batch.push(admitted) === 1) timer = setTimeout(addLate, seedWaitMs)
        if (batch.length < seedBatch && position % seedPositions !== 0) continue
        clearTimeout(timer)
        await this.#add(batch.splice(0), position)
      }
      return false
    } finally {
      this.#isInStart = false
      clearTimeout(timer)
      await late
      if (!this.#isStopped) await this.#add(batch, position)
    }
  }

  async #add(requests: readonly NewRequest[], position: number): Promise<void> {
    const { frontier, scheduler } = this.#options
    await frontier.seedFrom(requests, Math.max(position, frontier.job.position))
    scheduler.added()
    await setImmediate()
    if (frontier.counts().pending <= maxPending) return
    scheduler.seed('waiting')
    while (frontier.counts().pending > maxPending && !this.#isStopped) await this.#demand.sleep(Infinity)
    scheduler.seed('running')
  }
}

/** @throws SettingsError when a spider has nothing to begin with, or a start URL that can't be fetched. */
export function checkSpider(spider: Spider<any>, name: string): void {
  const hasOwnStart = spider.start !== baseOf(spider).start
  if (spider.startUrls.length === 0 && !hasOwnStart) {
    throw new SettingsError(`The spider "${name}" has no startUrls and no start(): it has nowhere to begin.`)
  }
  if (hasOwnStart && spider.startUrls.length === 0 && spider.allowedDomains.length === 0) {
    throw new SettingsError(`The spider "${name}" has a start() of its own and no allowedDomains: name the domains that it may visit, or ['*'] for any.`)
  }
  for (const url of spider.startUrls) {
    if (!URL.canParse(url) || !isWeb(new URL(url).protocol)) throw new SettingsError(`The spider "${name}" begins at "${url}", which is no http or https URL.`)
  }
}

/** The prototype of Spider itself, of whichever copy of the package. */
function baseOf(spider: Spider<any>): Spider<any> {
  let base = Object.getPrototypeOf(spider) as Spider<any>
  for (let next = Object.getPrototypeOf(base) as Spider<any>; next !== Object.prototype && next !== null; next = Object.getPrototypeOf(base) as Spider<any>) base = next
  return base
}
