import { join, resolve } from 'node:path'
import { LRUCache } from 'lru-cache'
import type { Middleware } from './compose.ts'
import type { Crawl, Part } from './crawl.ts'
import { Downloader } from './downloader/downloader.ts'
import { Transport } from './downloader/transport.ts'
import { Admission } from './engine/admission.ts'
import { announce } from './engine/announce.ts'
import { checkSpider, Engine } from './engine/engine.ts'
import { Ending } from './engine/ending.ts'
import { Fingerprinter } from './engine/fingerprinter.ts'
import { Harvester } from './engine/harvest.ts'
import { Limits } from './engine/limits.ts'
import { prioritiesOf } from './engine/priorities.ts'
import { RedirectTargets } from './engine/redirect-targets.ts'
import { Scheduler } from './engine/scheduler.ts'
import { Scraper } from './engine/scrape.ts'
import { messageOf, SettingsError } from './errors.ts'
import { openFiles } from './files/open.ts'
import type { Files } from './files/files.ts'
import { EmbeddedFrontier, type EmbeddedFrontierOptions } from './frontier/embedded.ts'
import type { DistinctCount } from './dupe-filter/open.ts'
import type { Frontier, FrontierCounts, OutcomeCount } from './frontier/frontier.ts'
import { silentLog, type Log } from './log.ts'
import { makeFolder } from './make-folder.ts'
import type { Project } from './settings/define.ts'
import { loadSettings } from './settings/load.ts'
import type { Settings, SettingsInput } from './settings/schema.ts'
import { Signals, type EndReason } from './signals.ts'
import { Slots, type SlotState } from './slots/slots.ts'
import type { Spider, SpiderArguments, SpiderClass } from './spider.ts'
import { Stats } from './stats.ts'
import { openStore } from './store/open.ts'
import type { StatusCount, Store } from './store/store.ts'

export interface RunOptions {
  /** Name of the spider: of its frontier, its rows and its files. */
  readonly name: string
  readonly spider: SpiderClass
  /** What settings.ts exports. */
  readonly project: Project
  /** Given to the spider's constructor. */
  readonly args?: SpiderArguments
  /** Over settings.ts and the spider's own. */
  readonly settings?: SettingsInput
  /** Dotted paths with values as text, over everything. */
  readonly overrides?: Readonly<Record<string, string>>
  /** Environment variables that may hold settings. Default `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Begin anew even if the last run has not ended. Rows and files stay. Default false. */
  readonly fresh?: boolean
  /** Asks for a graceful end: what is in progress ends, within `stop.graceMs`. */
  readonly stopping?: AbortSignal
  /** Ends at once: what is in progress goes back to the frontier. */
  readonly aborting?: AbortSignal
  /** Default: writes nothing. */
  readonly log?: Log
  /** Is given the crawl once it is open: for progress, and for listening to signals. */
  readonly onOpen?: (live: LiveCrawl) => void
}

/** What can be seen of a crawl while it runs. */
export interface LiveCrawl {
  readonly spider: string
  readonly settings: Settings
  readonly resumed: boolean
  readonly stats: Stats
  readonly signals: Pick<Signals, 'on'>
  counts(): FrontierCounts
  outcomes(): readonly OutcomeCount[]
  slots(): SlotState[]
}

/** How a run went. */
export interface RunSummary {
  readonly spider: string
  readonly reason: EndReason
  /** The limit that ended it, when `reason` is `limit`. */
  readonly limit?: string
  readonly resumed: boolean
  /** ms of this process. */
  readonly durationMs: number
  /** Of the whole run, over all processes that worked on it. */
  readonly outcomes: readonly OutcomeCount[]
  /** Rows of this spider's images, of all runs. */
  readonly images: readonly StatusCount[]
  /** Images that this process has kept, and how many it knew without a download. */
  readonly stats: Readonly<Record<string, number>>
  readonly left: FrontierCounts
  /** Different URLs that the run has met, with the error of the count. */
  readonly distinct: DistinctCount
  /** Folder of the images. */
  readonly files: string
  /** Where the rows are, without a password. */
  readonly database: string
  readonly frontier: string
  readonly settings: Settings
}

/**
 * Opens everything, crawls, and closes everything in the opposite order.
 * @throws SettingsError before anything is opened, StorageError when the database, the frontier or the folder is gone.
 */
export async function run(options: RunOptions): Promise<RunSummary> {
  const { name, project, args = {}, log = silentLog } = options
  checkProject(project)
  const spider = construct(options.spider, name, args)
  checkSpider(spider, name)
  const { settings } = loadSettings({
    project,
    spider: spider.settings,
    environment: options.environment ?? process.env,
    ...(options.settings === undefined ? {} : { program: options.settings }),
    ...(options.overrides === undefined ? {} : { commandLine: options.overrides }),
  })
  const closers: Closer[] = []
  try {
    const summary = await execute(options, spider, settings, log, closers)
    await closeAll(closers)
    return summary
  } catch (error) {
    await closeAll(closers).catch((closing: unknown) => log.error({ error: closing }, `closing failed: ${messageOf(closing)}`))
    throw error
  }
}

type Closer = () => void | Promise<void>

async function execute(options: RunOptions, spider: Spider<any>, settings: Settings, log: Log, closers: Closer[]): Promise<RunSummary> {
  const { name } = options
  const startedAt = Date.now()
  const slots = new Slots(settings)
  const ending = new Ending({ stopping: options.stopping, aborting: options.aborting, graceMs: settings.stop.graceMs })
  const signal = ending.aborting
  closers.push(() => ending.close())

  const outageMs = settings.stop.outageMs
  const dataDir = resolve(settings.dataDir)
  makeDataDir(dataDir)
  const store = await openStore({ database: settings.database, dataDir, hash: settings.dedupe.hash, urls: settings.urls, log, signal, outageMs })
  closers.push(() => store.close())
  const files = await openFiles({ files: settings.files, dataDir })
  closers.push(() => files.close())
  const frontierPath = join(dataDir, 'frontier', `${name}.db`)
  const frontier = openFrontier(options, settings, { path: frontierPath, slots, log, signal, outageMs })
  closers.push(() => frontier.close())
  await removeAbandoned(store, files)
  for (const { item } of frontier.givenUp) {
    if (item !== undefined) await store.refuse({ url: item.url, status: 'failed', reason: 'crash', message: 'the process ended whenever this was fetched', attempts: 1, settled: false })
  }

  const stats = new Stats()
  const signals = new Signals(log)
  const parts: Closer[] = []
  const crawl: Crawl = {
    spider: name, allowedDomains: allowedDomains(spider), settings, store, files, slots, stats, signals, log, signal,
    onClose: (close) => void parts.push(close),
  }
  const transport = new Transport({ settings, files })
  closers.push(() => transport.close())
  closers.push(() => closeAll(parts))
  const { downloaderMiddlewares, spiderMiddlewares, pipelines } = options.project
  const downloader = new Downloader({ middlewares: await build(downloaderMiddlewares, crawl), slots, transport, signal })

  const { concurrency, limits: limitSettings, urls, fingerprint } = settings
  const { seed, bits } = frontier.job
  const fingerprinter = new Fingerprinter({ ignoreParameters: urls.ignoreParameters, headers: fingerprint.headers, own: options.project.requestFingerprint, seed, bits })
  const admission = new Admission({ frontier, fingerprinter, stats, log })
  const scheduler = new Scheduler({ frontier, slots, blockedMs: limitSettings.blockedMs })
  const limits = new Limits({ ...limitSettings, onReached: () => ending.stop() })
  closers.push(() => limits.close())
  const scraper = new Scraper({
    frontier, admission, store, spider, site: name, signal,
    settledImages: new LRUCache({ max: 100_000 }),
    middlewares: await build(spiderMiddlewares, crawl),
    callbackMs: settings.pages.callbackMs,
    onKnown: () => stats.add('images/known'),
    onAdded: () => scheduler.added(),
  })
  const harvester = new Harvester({
    store, site: name, maxPixels: settings.images.maxPixels, signal,
    pipelines: await build(pipelines, crawl),
    onStored: (item, stored) => {
      stats.add(`images/${stored.status}`)
      stats.add('images/bytes', item.image.size)
      if (stored.status === 'downloaded') limits.countImage()
      signals.emit('item_stored', item, stored)
    },
  })
  const engine = new Engine({
    scheduler, downloader, scraper, harvester, frontier, admission, store, spider, limits, concurrency, log, signal,
    site: name,
    retry: settings.retry,
    redirectTargets: new RedirectTargets(frontier, fingerprinter),
    stopping: ending.stopping,
    onResponse: (response) => {
      stats.add(`${response.kind}s/wireBytes`, response.wireBytes)
      limits.countBytes(response.wireBytes)
      signals.emit('response_received', response)
    },
    onOutcome: (lease, outcome, error) => {
      engine.settled()
      if (lease.request.kind === 'page' && outcome.state === 'done') limits.countPage()
      if (outcome.state === 'failed') limits.countError()
      announce(lease, outcome, error, { stats, signals, log })
    },
  })
  signals.emit('crawl_opened')
  options.onOpen?.({
    spider: name, settings, resumed: frontier.job.resumed, stats, signals,
    counts: () => frontier.counts(),
    outcomes: () => frontier.outcomes(),
    slots: () => slots.states(),
  })
  const reason = await engine.run()
  signals.emit('crawl_closed', reason)
  return {
    spider: name, reason, resumed: frontier.job.resumed, durationMs: Date.now() - startedAt, settings,
    ...(reason !== 'limit' || limits.reached === undefined ? {} : { limit: limits.reached }),
    outcomes: frontier.outcomes(),
    images: await store.counts(name),
    stats: stats.toJSON(),
    left: frontier.counts(),
    distinct: frontier.distinct(),
    files: files.locate(''),
    database: store.location,
    frontier: frontierPath,
  }
}

function openFrontier(options: RunOptions, settings: Settings, own: Pick<EmbeddedFrontierOptions, 'path' | 'slots' | 'log' | 'signal' | 'outageMs'>): Frontier {
  const { dupeFilter, queue, urls, fingerprint } = settings
  const { requestFingerprint } = options.project
  const { log } = own
  const frontier = new EmbeddedFrontier({
    ...own, dupeFilter, order: queue.order, synchronous: queue.synchronous,
    fresh: options.fresh ?? false,
    priorityOf: prioritiesOf(queue.priorities),
    identity: {
      'urls.ignoreParameters': urls.ignoreParameters,
      'fingerprint.headers': fingerprint.headers,
      requestFingerprint: requestFingerprint?.toString() ?? '',
      args: options.args ?? {},
    },
  })
  for (const { path, was, is } of frontier.job.changes) {
    if (path === 'args') {
      const effect = frontier.job.started ? 'this run has taken its start requests already. ' : ''
      log.warn({}, `the arguments (-a) are others than until now: ${effect}--fresh begins a new run.`)
    } else log.warn({ path, was, is }, `${path} was ${was} until now, and is ${is}: what was met before may be fetched once more. --fresh begins a new run.`)
  }
  if (frontier.job.bits !== dupeFilter.bits) log.warn({ bits: frontier.job.bits }, `this run began with fingerprints of ${frontier.job.bits} bits and goes on with them; dupeFilter.bits counts for the next one.`)
  return frontier
}

async function build<Handler extends Middleware<any, any>>(parts: readonly Part<Handler>[], crawl: Crawl): Promise<Handler[]> {
  const handlers: Handler[] = []
  for (const part of parts) handlers.push(await part(crawl))
  return handlers
}

async function removeAbandoned(store: Store, files: Files): Promise<void> {
  for (const { id, key } of await store.abandoned()) {
    await files.delete(key)
    await store.forgetFile(id)
  }
}

function allowedDomains(spider: Spider<any>): readonly string[] {
  if (spider.allowedDomains.includes('*')) return []
  return spider.allowedDomains.length > 0 ? spider.allowedDomains : [...new Set(spider.startUrls.map((url) => new URL(url).hostname))]
}

function checkProject(project: Project): void {
  for (const list of ['downloaderMiddlewares', 'spiderMiddlewares', 'pipelines'] as const) {
    if (!Array.isArray(project[list]) || project[list].some((part) => typeof part !== 'function')) {
      throw new SettingsError(`settings.ts must give ${list}: a list of functions, outermost first. The built-in ones come from 'orbweaver/${list === 'pipelines' ? list : 'middlewares'}'.`)
    }
  }
}

function construct(spiderClass: SpiderClass, name: string, args: SpiderArguments): Spider<any> {
  try {
    return new spiderClass(args)
  } catch (cause) {
    throw new SettingsError(`The spider "${name}" could not be made: ${messageOf(cause)}`, { cause })
  }
}

function makeDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir)
  } catch (cause) {
    throw new SettingsError(`The folder ${dataDir} can't be made: ${messageOf(cause)}. Set dataDir to one that you may write.`, { cause })
  }
}

/** Closes in the opposite order; each is closed though another failed. */
async function closeAll(closers: Closer[]): Promise<void> {
  const errors: unknown[] = []
  for (const close of closers.splice(0).reverse()) {
    try {
      await close()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors, `closing failed: ${errors.map((error) => messageOf(error)).join('; ')}`)
}
