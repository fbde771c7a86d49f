import type { Downloader } from '../downloader/downloader.ts'
import { isCrawlError } from '../errors.ts'
import type { Frontier, Lease, Outcome } from '../frontier/frontier.ts'
import type { Request } from '../http/request.ts'
import type { Response } from '../http/response.ts'
import type { Store } from '../store/store.ts'
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
    const { frontier, store, retry, redirectTargets, signal, onOutcome } = this.#options
    const { lease } = job
    let outcome: Outcome = { state: 'done' }
    let cause: unknown
    const target = redirectTargets.watch()
    try {
      await this.#fetch(job, target)
    } catch (error) {
      if (isCrawlError(error, 'storage')) {
        await frontier.settle([{ lease, outcome: { state: 'released' } }])
        throw error
      }
      outcome = outcomeOf(error, lease, retry, signal.aborted)
      cause = error
    }
    if (lease.request.kind === 'image') {
      const refusal = refusalOf(lease.request.item?.url ?? lease.request.url, outcome, lease.attempt)
      if (refusal !== undefined) {
        await store.refuse(refusal)
        if (refusal.status === 'failed') await this.#addFallback(lease.request)
      }
    }
    const met = outcome.state === 'done' ? target.fingerprint : undefined
    await frontier.settle([{ lease, outcome, ...(met === undefined ? {} : { met }) }])
    target.release()
    onOutcome(lease, outcome, cause)
  }

  async #fetch({ lease, visit }: Job, target: RedirectTarget): Promise<void> {
    const { downloader, harvester, scraper, onResponse } = this.#options
    const { request } = lease
    const isRepeated = lease.attempt + lease.interruptions > 1
    if (request.kind === 'image' && isRepeated && (await harvester.isSettled(request.item?.url ?? request.url))) return visit.cancel()
    const response = await downloader.fetch(request, visit)
    onResponse(response)
    if (response.isImage()) await harvester.harvest(response, lease)
    else if (response.isPage()) {
      target.claim(response)
      await scraper.scrape(response)
    }
  }

  /** The next candidate of an image that can't be had is stored before the image is settled. */
  async #addFallback(request: Request): Promise<void> {
    const { frontier, store, site, scheduler } = this.#options
    const [url, ...fallbacks] = request.item?.fallbacks ?? []
    if (url === undefined || request.item === undefined) return
    const item = { ...request.item, url, fallbacks }
    const row = (await store.found([item], site)).get(url)
    if (row === undefined || row.settled) return
    const { id, foundAt } = row
    await frontier.add([request.with({ url, item: { ...item, id, foundAt, site: row.site } })])
    scheduler.added()
  }
}
