import type { Downloader } from '../downloader/downloader.ts'
import { abortable } from '../async/signal.ts'
import { isCrawlError, messageOf } from '../errors.ts'
import type { Frontier, Lease, NewRequest, Outcome } from '../frontier/frontier.ts'
import type { Request } from '../http/request.ts'
import type { Response } from '../http/response.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/store.ts'
import type { Admission } from './admission.ts'
import { findCandidates, nextFallback } from './candidates.ts'
import type { Harvester } from './harvest.ts'
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
  readonly admission: Admission
  readonly store: Store
  readonly site: string
  readonly redirectTargets: RedirectTargets
  readonly retry: RetryRules
  readonly log: Log
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
    for (let lease = await scheduler.next(); lease !== undefined; lease = await scheduler.next()) {
      try {
        await this.#process(lease)
      } finally {
        scheduler.settled()
      }
    }
  }

  async #process(lease: Lease): Promise<void> {
    const { redirectTargets, signal, onOutcome } = this.#options
    const target = redirectTargets.watch()
    const children: NewRequest[] = []
    try {
      const recalled = await this.#recall(lease)
      const { outcome, cause } = recalled === undefined ? await this.#outcome(lease, target, children) : { outcome: recalled, cause: undefined }
      await this.#settle(lease, outcome, target, children, recalled !== undefined)
      onOutcome(lease, outcome, cause)
    } catch (error) {
      await this.#release(lease)
      if (isCrawlError(error, 'storage') || !signal.aborted) throw error
    } finally {
      target.release()
    }
  }

  /** @throws StorageError, which is nobody's outcome: the crawl ends. */
  async #outcome(lease: Lease, target: RedirectTarget, children: NewRequest[]): Promise<{ outcome: Outcome; cause?: unknown }> {
    const { retry, signal } = this.#options
    try {
      // A part that waits for something else than the signal is waited for no longer than the crawl lasts.
      await abortable(signal, this.#fetch(lease, target, children))
      return { outcome: { state: 'done' } }
    } catch (cause) {
      if (isCrawlError(cause, 'storage')) throw cause
      return { outcome: outcomeOf(cause, lease, retry, signal.aborted), cause }
    }
  }

  async #fetch(lease: Lease, target: RedirectTarget, children: NewRequest[]): Promise<void> {
    const { downloader, harvester, scraper, onResponse } = this.#options
    const { request, visit } = lease
    const response = await downloader.fetch(request, visit)
    onResponse(response)
    if (response.isImage()) await harvester.harvest(response, lease)
    else if (response.isPage()) {
      target.claim(response)
      await scraper.scrape(response, children)
    }
  }

  /** How an earlier try ended that was not lived to be settled, though its row was committed; undefined when it has to be fetched. */
  async #recall({ request, visit, attempt, interruptions }: Lease): Promise<Outcome | undefined> {
    if (request.kind !== 'image' || attempt + interruptions === 1) return undefined
    try {
      const outcome = await this.#options.harvester.recall(request.item?.url ?? request.url)
      if (outcome !== undefined) visit.cancel()
      return outcome
    } catch (error) {
      visit.cancel()
      throw error
    }
  }

  /**
   * The row of the next candidate of an image that can't be had is stored before its refusal, and that before the lease
   * ends. What a page has led to is added as the page ends, in one transaction; a page that is tried again yields it again.
   */
  async #settle(lease: Lease, outcome: Outcome, target: RedirectTarget, children: NewRequest[], isRecalled: boolean): Promise<void> {
    const { frontier, store } = this.#options
    const { request } = lease
    const refusal = request.kind === 'image' ? refusalOf(request.item?.url ?? request.url, outcome, lease.attempt) : undefined
    if (refusal !== undefined) {
      if (refusal.status === 'failed') await this.#addFallback(request, children)
      if (!isRecalled) await store.refuse(refusal)
    }
    const met = outcome.state === 'done' ? target.met : undefined
    await frontier.settle([{ lease, outcome, children, ...(met === undefined ? {} : { met }) }])
  }

  async #addFallback(request: Request, children: NewRequest[]): Promise<void> {
    const { admission, store, site, log } = this.#options
    const fallback = request.item === undefined ? undefined : nextFallback(request.item)
    if (fallback === undefined) return
    const { wanted } = await findCandidates(store, [fallback], site)
    for (const item of wanted) {
      try {
        const admitted = admission.admit(request.with({ url: item.url, item }))
        if (admitted !== undefined) children.push(admitted)
      } catch (error) {
        log.error({ url: item.url, error }, `the other address of ${request.url} is left out: ${messageOf(error)}`)
      }
    }
  }

  /** A lease that can't be given back is taken back by the next start. */
  async #release(lease: Lease): Promise<void> {
    await this.#options.frontier.settle([{ lease, outcome: { state: 'released' } }]).catch(() => undefined)
  }
}
