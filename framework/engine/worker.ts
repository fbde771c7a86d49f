import type { Downloader } from '../downloader/downloader.ts'
import { abortable } from '../async/signal.ts'
import { isCrawlError } from '../errors.ts'
import type { Frontier, Lease, Outcome } from '../frontier/frontier.ts'
import type { Request } from '../http/request.ts'
import type { Response } from '../http/response.ts'
import type { Visit } from '../slots.ts'
import type { Store } from '../store/store.ts'
import { findCandidates, nextFallback } from './candidates.ts'
import type { Harvester } from './harvest.ts'
import type { Job } from './job.ts'
import { outcomeOf, refusalOf, type RetryRules } from './outcome.ts'
import type { RedirectTarget, RedirectTargets } from './redirect-targets.ts'
import type { Scheduler } from './scheduler.ts'
import type { Scraper } from './scrape.ts'

export interface WorkerOptions {
  readonly scheduler: Scheduler
  readonly downloader: Downloader
  readonly scraper: Scraper
  readonly harvester: Harvester
  readonly frontier: Frontier
  readonly store: Store
  readonly site: string
  readonly redirectTargets: RedirectTargets
  readonly retry: RetryRules
  readonly signal: AbortSignal
  readonly onResponse: (response: Response) => void
  readonly onOutcome: (lease: Lease, outcome: Outcome, error: unknown) => void
}

/** Takes one request after the other from its lease to its settlement. Nothing is queued between two of them. */
export class Worker {
  readonly #options: WorkerOptions

  constructor(options: WorkerOptions) {
    this.#options = options
  }

  /** Runs until the scheduler has nothing more. Rejects when store or frontier are away for good. */
  async run(): Promise<void> {
    const { scheduler } = this.#options
    for (let job = await scheduler.next(); job !== undefined; job = await scheduler.next()) {
      try {
        await this.#process(job)
      } finally {
        scheduler.settled()
      }
    }
  }

  async #process(job: Job): Promise<void> {
    const { redirectTargets, signal, onOutcome } = this.#options
    const { lease } = job
    const target = redirectTargets.watch()
    try {
      const { outcome, cause } = await this.#outcome(job, target)
      await this.#settle(lease, outcome, target)
      onOutcome(lease, outcome, cause)
    } catch (error) {
      await this.#release(lease)
      if (isCrawlError(error, 'storage') || !signal.aborted) throw error
    } finally {
      target.release()
    }
  }

  /** @throws StorageError, which is nobody's outcome: the crawl ends. */
  async #outcome(job: Job, target: RedirectTarget): Promise<{ outcome: Outcome; cause?: unknown }> {
    const { retry, signal } = this.#options
    try {
      // A part that waits for something else than the signal is waited for no longer than the crawl lasts.
      await abortable(signal, this.#fetch(job, target))
      return { outcome: { state: 'done' } }
    } catch (cause) {
      if (isCrawlError(cause, 'storage')) throw cause
      return { outcome: outcomeOf(cause, job.lease, retry, signal.aborted), cause }
    }
  }

  async #fetch({ lease, visit }: Job, target: RedirectTarget): Promise<void> {
    const { downloader, harvester, scraper, onResponse } = this.#options
    const { request } = lease
    if (await this.#isKept(lease, visit)) return
    const response = await downloader.fetch(request, visit)
    onResponse(response)
    if (response.isImage()) await harvester.harvest(response, lease)
    else if (response.isPage()) {
      target.claim(response)
      await scraper.scrape(response)
    }
  }

  /** True when an earlier try was not lived to be settled, but its row was committed. */
  async #isKept({ request, attempt, interruptions }: Lease, visit: Visit): Promise<boolean> {
    if (request.kind !== 'image' || attempt + interruptions === 1) return false
    try {
      const isSettled = await this.#options.harvester.isSettled(request.item?.url ?? request.url)
      if (isSettled) visit.cancel()
      return isSettled
    } catch (error) {
      visit.cancel()
      throw error
    }
  }

  /** The next candidate of an image that can't be had is stored before its refusal, and that before the lease ends. */
  async #settle(lease: Lease, outcome: Outcome, target: RedirectTarget): Promise<void> {
    const { frontier, store } = this.#options
    const { request } = lease
    const refusal = request.kind === 'image' ? refusalOf(request.item?.url ?? request.url, outcome, lease.attempt) : undefined
    if (refusal !== undefined) {
      if (refusal.status === 'failed') await this.#addFallback(request)
      await store.refuse(refusal)
    }
    const met = outcome.state === 'done' ? target.fingerprint : undefined
    await frontier.settle([{ lease, outcome, ...(met === undefined ? {} : { met }) }])
  }

  async #addFallback(request: Request): Promise<void> {
    const { frontier, store, site, scheduler } = this.#options
    const fallback = request.item === undefined ? undefined : nextFallback(request.item)
    if (fallback === undefined) return
    const { wanted } = await findCandidates(store, [fallback], site)
    await frontier.add(wanted.map((item) => request.with({ url: item.url, item })))
    scheduler.added()
  }

  /** A lease that can't be given back is taken back by the next start. */
  async #release(lease: Lease): Promise<void> {
    await this.#options.frontier.settle([{ lease, outcome: { state: 'released' } }]).catch(() => undefined)
  }
}
