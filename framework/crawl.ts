import type { Middleware } from './compose.ts'
import type { Files } from './files/files.ts'
import type { Request } from './http/request.ts'
import type { PageResponse, Response, Results } from './http/response.ts'
import type { FetchedItem, Stored } from './item.ts'
import type { Log } from './log.ts'
import type { Settings } from './settings/schema.ts'
import type { Signals } from './signals.ts'
import type { Slots } from './slots/slots.ts'
import type { Stats } from './stats.ts'
import type { Store } from './store/store.ts'

/** What a middleware or pipeline is given when the crawl opens. Read-only, complete from the start, and all that there is. */
export interface Crawl {
  /** Name of the spider. */
  readonly spider: string
  /** Domains that pages may be on, with their subdomains. Empty: any. */
  readonly allowedDomains: readonly string[]
  readonly settings: Settings
  readonly store: Pick<Store, 'known' | 'similar' | 'sameBytes' | 'save' | 'forgetFile'>
  readonly files: Files
  readonly slots: Slots
  readonly stats: Stats
  readonly signals: Pick<Signals, 'on'>
  readonly log: Log
  /** Aborts when work must end now. Pass it to everything that waits. */
  readonly signal: AbortSignal
  /** Runs `close` when the crawl ends, the last registered first. */
  onClose(close: () => void | Promise<void>): void
}

/** Built once when the crawl opens; what it answers is called for everything that flows. */
export type Part<Handler> = (crawl: Crawl) => Handler | Promise<Handler>

/** Around every download. The innermost `next` is the socket. */
export type DownloaderMiddleware = Part<Middleware<Request, Promise<Response>>>
/** Around every callback. The innermost `next` is the spider's method. */
export type SpiderMiddleware = Part<Middleware<PageResponse, Results<any>>>
/** Around the keeping of every image. The innermost of the list commits the row and answers its receipt. */
export type Pipeline = Part<Middleware<FetchedItem<any>, Promise<Stored>>>
