import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAbortController } from '../../framework/async/signal.ts'
import type { Crawl, DownloaderMiddleware } from '../../framework/crawl.ts'
import { Downloader } from '../../framework/downloader/downloader.ts'
import { Transport } from '../../framework/downloader/transport.ts'
import type { Files } from '../../framework/files/files.ts'
import { Request } from '../../framework/http/request.ts'
import { PageResponse, type Response, type ResponseOptions } from '../../framework/http/response.ts'
import { silentLog, type Log } from '../../framework/log.ts'
import { schema, type SettingsInput } from '../../framework/settings/schema.ts'
import { Signals } from '../../framework/signals.ts'
import { Slots } from '../../framework/slots/slots.ts'
import { Stats } from '../../framework/stats.ts'

export interface TestCrawlOptions {
  /** Over a crawl of loopback without delays. */
  readonly settings?: SettingsInput
  readonly middlewares?: readonly DownloaderMiddleware[]
  readonly allowedDomains?: readonly string[]
  readonly log?: Log
}

export interface TestCrawl {
  readonly crawl: Crawl
  readonly slots: Slots
  readonly downloader: Downloader
  /** Enters the request's slot as the scheduler does, then fetches. */
  fetch(request: string | Request): Promise<Response>
  abort(reason: Error): void
  temporaryFiles(): Promise<string[]>
  close(): Promise<void>
}

/** A crawl of real parts, as far as downloading needs them: no store, and files that are never kept. */
export async function openCrawl(options: TestCrawlOptions = {}): Promise<TestCrawl> {
  const { settings = {}, middlewares = [], allowedDomains = [], log = silentLog } = options
  const parsed = schema.parse({
    ...settings,
    network: { allowPrivate: true, ...settings.network },
    slot: { delayMs: 0, jitter: 0, ...settings.slot },
  })
  const controller = createAbortController()
  const slots = new Slots(parsed)
  let folder = ''
  let count = 0
  const closing: (() => void | Promise<void>)[] = []
  const crawl: Crawl = {
    spider: 'test',
    allowedDomains,
    settings: parsed,
    store: notInUse as Crawl['store'],
    files: { ...(notInUse as Files), temporaryPath: () => join(folder, String(++count)) },
    slots,
    stats: new Stats(),
    signals: new Signals(log),
    log,
    signal: controller.signal,
    onClose: (close) => void closing.unshift(close),
  }
  const parts = await Promise.all(middlewares.map((middleware) => middleware(crawl)))
  const transport = new Transport({ settings: parsed, files: crawl.files })
  folder = await mkdtemp(join(tmpdir(), 'orbweaver-'))
  const downloader = new Downloader({ middlewares: parts, slots, transport, signal: controller.signal })
  return {
    crawl,
    slots,
    downloader,
    async fetch(url) {
      const request = typeof url === 'string' ? new Request(url) : url
      return downloader.fetch(request, await slots.enter(request.slot, controller.signal))
    },
    abort: (reason) => controller.abort(reason),
    temporaryFiles: () => readdir(folder),
    async close() {
      controller.abort(new Error('the test is over'))
      for (const close of closing) await close()
      await downloader.close()
      await rm(folder, { recursive: true })
    },
  }
}

/** What a server might answer, for hosts that loopback can't have. */
export function answer(request: Request, options: Partial<ResponseOptions> & { readonly body?: string } = {}): PageResponse {
  const { status = 200, headers = {}, body = '', ...rest } = options
  return new PageResponse({ request, status, headers, ...rest, body: Buffer.from(body) })
}

const notInUse: unknown = {}
