export { canonicalizeUrl, type CanonicalizeOptions } from './http/url.ts'
export { Request, type RequestOptions } from './http/request.ts'
export {
  ImageResponse,
  PageResponse,
  Response,
  type Callback,
  type Redirect,
  type Results,
  type Timing,
} from './http/response.ts'
export { Spider, type SpiderArguments, type SpiderClass } from './spider.ts'
export type { FetchedItem, ImageFile, ImageFormat, Item, PerceptualHashes, SimilarImage, Stored, Thumbnail } from './item.ts'
export type { Json, JsonObject } from './json.ts'
export type { Crawl, DownloaderMiddleware, Part, Pipeline, SpiderMiddleware } from './crawl.ts'
export type { Middleware } from './compose.ts'
export { defineSettings, type Project, type RequestFingerprint } from './settings/define.ts'
export type { Settings, SettingsInput } from './settings/schema.ts'
export {
  CrawlError,
  DownloadError,
  DropItem,
  IgnoreRequest,
  ImageError,
  isCrawlError,
  messageOf,
  RetryRequest,
  SettingsError,
  StorageError,
  UrlError,
} from './errors.ts'

export { run, type LiveCrawl, type RunOptions, type RunSummary } from './run.ts'
export type { DistinctCount } from './dupe-filter/open.ts'
export type { FrontierCounts, OutcomeCount } from './frontier/frontier.ts'
export type { KeptImage, KnownImage, StatusCount } from './store/store.ts'
export type { EndReason } from './signals.ts'
export type { SlotState } from './slots/slots.ts'
export type { Log } from './log.ts'
export { delay } from './async/signal.ts'
export { Limit } from './async/limit.ts'
export { retryAfterMs } from './downloader/retry-after.ts'
export { version } from './version.ts'
export { hammingDistance, hashThumbnail } from './image/hashes.ts'
