import { setImmediate } from 'node:timers/promises'
import { abortable, Deadline } from '../async/signal.ts'
import { CrawlError, isCrawlError, messageOf } from '../errors.ts'
import { compose, type Middleware } from '../compose.ts'
import type { NewRequest } from '../frontier/frontier.ts'
import type { Callback, PageResponse, Results } from '../http/response.ts'
import type { Spider } from '../spider.ts'
import { Outlinks, type OutlinksOptions } from './outlinks.ts'

export interface ScraperOptions extends OutlinksOptions {
  readonly middlewares: readonly Middleware<PageResponse, Results<any>>[]
  readonly callbackMs: number
}

/** Results of a callback between which everything else gets its turn. */
const yieldsPerTurn = 256

/** Runs callbacks. What they yield is stored before or as the page is settled: a crash before only makes the page be read again. */
export class Scraper {
  readonly #options: ScraperOptions
  readonly #run: (page: PageResponse, core: (page: PageResponse) => Results<any>) => Results<any>

  constructor(options: ScraperOptions) {
    this.#options = options
    this.#run = compose(options.middlewares)
  }

  /**
   * Gives to `children` what is to be added as the page is settled; of a page that yields very much, only the last of it.
   * @throws CrawlError naming the spider's method and the page when the callback throws.
   */
  async scrape(page: PageResponse, children: NewRequest[]): Promise<void> {
    const { signal, callbackMs } = this.#options
    const timeout = () => new CrawlError('callback', `${page.request.callback}() did not end within ${callbackMs} ms on ${page.url} (setting pages.callbackMs).`, { reason: 'callback timeout' })
    const deadline = new Deadline(signal, callbackMs, timeout)
    const outlinks = new Outlinks({ ...this.#options, signal: deadline.signal }, page.request.depth)
    try {
      await abortable(deadline.signal, this.#consume(page, deadline, outlinks, children))
    } catch (error) {
      // What a callback had yielded before its time was over is as good as what it yields before it throws.
      if (deadline.signal.aborted && !signal.aborted) children.push(...(await outlinks.rest(signal)))
      throw error
    } finally {
      deadline.close()
    }
  }

  /** The callback's time is its own: it doesn't run while outlinks are written, however long the database takes. */
  async #consume(page: PageResponse, deadline: Deadline, outlinks: Outlinks, children: NewRequest[]): Promise<void> {
    const write = async <T>(written: Promise<T>): Promise<T> => {
      deadline.pause()
      try {
        return await written
      } finally {
        deadline.resume()
      }
    }
    const results = this.#run(page, (input) => paced(callbackOf(this.#options.spider, input)(input, input.request.meta), deadline.signal))
    try {
      for await (const result of results) {
        deadline.signal.throwIfAborted()
        const written = outlinks.add(result)
        if (written !== undefined) await write(written)
      }
    } catch (error) {
      if (!deadline.signal.aborted) children.push(...(await write(outlinks.rest())))
      throw isCrawlError(error) ? error : callbackError(error, page)
    }
    deadline.signal.throwIfAborted()
    children.push(...(await write(outlinks.rest())))
  }
}

/** The same results, with a turn for everything else now and then: a generator that never waits would keep timers and signals from being heard. */
function paced(results: Results<any>, signal: AbortSignal): Results<any> {
  let count = 0
  const next = () => results.next()
  const nextTurn = async () => {
    await setImmediate()
    signal.throwIfAborted()
    return results.next()
  }
  return {
    next: () => (++count % yieldsPerTurn === 0 ? nextTurn() : next()),
    return: (value) => results.return(value),
    throw: (error) => results.throw(error),
    [Symbol.asyncIterator]() {
      return this
    },
  } as Results<any>
}

function callbackOf(spider: Spider<any>, { request, url }: PageResponse): Callback {
  const method: unknown = Reflect.get(spider, request.callback)
  if (typeof method !== 'function') {
    throw new CrawlError('callback', `The spider has no method "${request.callback}" for ${url}. It may have been renamed since the request was stored.`, { reason: 'unknown callback' })
  }
  return (page, meta) => Reflect.apply(method, spider, [page, meta]) as Results<any>
}

function callbackError(error: unknown, { request, url }: PageResponse): CrawlError {
  const place = placeInSpider(error)
  return new CrawlError('callback', `${request.callback}() threw on ${url}: ${messageOf(error)}${place === undefined ? '' : ` (${place})`}`, { reason: 'callback threw', cause: error })
}

/** File, line and column of the spider's code that threw. The message may come from a page, so only the lines of calls are read. */
function placeInSpider(error: unknown): string | undefined {
  const calls = error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^ {4}at .{0,500}$/.test(line)) : []
  const call = calls.find((line) => line.includes('/spiders/'))
  return call?.replace(/^.*?(?:\(|at )(?:file:\/\/)?(\/?[^()]*:\d+:\d+)\)?$/, '$1')
}
