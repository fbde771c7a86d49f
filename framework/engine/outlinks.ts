import type { LRUCache } from 'lru-cache'
import { CrawlError } from '../errors.ts'
import type { Frontier, NewRequest } from '../frontier/frontier.ts'
import { Request } from '../http/request.ts'
import type { Item } from '../item.ts'
import type { Spider } from '../spider.ts'
import type { Store } from '../store/store.ts'
import type { Admission } from './admission.ts'
import { findCandidates } from './candidates.ts'
import { checkJson } from './check-json.ts'

export interface OutlinksOptions {
  readonly frontier: Frontier
  readonly store: Store
  readonly spider: Spider<any>
  /** Name of the spider, for the rows of images. */
  readonly site: string
  readonly admission: Admission
  /** Image URLs that are known to need no download: saves asking the store again for the pictures of every page. */
  readonly settledImages: LRUCache<string, true>
  readonly signal: AbortSignal
  /** Is called for every image that needs no download. */
  readonly onKnown: (item: Item) => void
  /** Is called when requests were added. */
  readonly onAdded: () => void
}

interface FoundImage {
  readonly item: Item
  readonly fingerprint: string
}

/** How much of what a callback yields is held before it is written. */
const maxHeld = 200

/** What one page yields, on its way into store and frontier. What the run has met already goes no further. */
export class Outlinks {
  readonly #options: OutlinksOptions
  readonly #depth: number
  #requests: NewRequest[] = []
  #items = new Map<string, FoundImage>()

  /** @param depth of the page that yields. */
  constructor(options: OutlinksOptions, depth: number) {
    this.#options = options
    this.#depth = depth
  }

  /**
   * Takes a request or an item, and answers a promise when enough is held to be written.
   * @throws CrawlError when it is neither, or its callback is no method of the spider.
   */
  add(result: Request | Item<any>): Promise<void> | undefined {
    const { admission, settledImages } = this.#options
    if (Request.is(result)) {
      this.#checkCallback(result)
      // A request that was made without `follow` is one link further than its page too.
      const admitted = admission.admit(result)
      if (admitted !== undefined) this.#requests.push(result.depth > 0 ? admitted : { ...admitted, request: result.with({ depth: this.#depth + 1 }) })
    } else {
      const item = checkItem(result)
      const { url } = item
      if (!this.#items.has(url) && !settledImages.has(url)) {
        const fingerprint = admission.admitImage(url)
        if (fingerprint !== undefined) this.#items.set(url, { item, fingerprint })
      }
    }
    return this.#requests.length + this.#items.size >= maxHeld ? this.#flush() : undefined
  }

  async #flush(): Promise<void> {
    const { frontier, onAdded } = this.#options
    const requests = await this.rest()
    if (requests.length === 0) return
    await frontier.add(requests)
    onAdded()
  }

  /**
   * Writes the rows of the images that are held, and answers what is left to be added.
   * @param signal ends it. Default: that of the options.
   */
  async rest(signal = this.#options.signal): Promise<NewRequest[]> {
    const { admission, store, site, settledImages, onKnown } = this.#options
    const requests = this.#requests
    const images = this.#items
    this.#requests = []
    this.#items = new Map()
    if (images.size > 0) {
      const { wanted, known } = await findCandidates(store, [...images.values()].map(({ item }) => item), site)
      signal.throwIfAborted()
      for (const item of known) {
        settledImages.set(item.url, true)
        onKnown(item)
      }
      for (const item of wanted) {
        // A fallback in its place has not been looked up yet.
        const fingerprint = images.get(item.url)?.fingerprint ?? admission.admitImage(item.url)
        if (fingerprint === undefined) continue
        requests.push({ request: new Request(item.url, { kind: 'image', item, referer: item.pageUrl, depth: this.#depth + 1 }), fingerprint })
      }
    }
    return requests
  }

  #checkCallback(request: Request): void {
    const { spider } = this.#options
    if (request.kind === 'page' && typeof Reflect.get(spider, request.callback) !== 'function') {
      throw new CrawlError('callback', `"${request.callback}" is no method of the spider, so a request for ${request.url} can't name it: requests are stored, and only a method can be found again.`, { reason: 'unknown callback' })
    }
    checkJson(request.meta, `The meta of the request for ${request.url}`)
  }
}

/** The item with those of its fallbacks that can be fetched. */
function checkItem(result: unknown): Item {
  const { url, pageUrl, data, fallbacks = [] } = (typeof result === 'object' && result !== null ? result : {}) as Partial<Item>
  if (!isWebUrl(url) || typeof pageUrl !== 'string' || typeof data !== 'object' || data === null) {
    throw new CrawlError('item', `A callback yielded ${shown(result)}, which is neither a Request nor an item with url, pageUrl and data. Use page.follow(url) or page.image(url).`, { reason: 'bad item' })
  }
  checkJson(data, `The data of the image ${url}`)
  const item = result as Item
  const fetchable = fallbacks.filter(isWebUrl)
  return fetchable.length === fallbacks.length ? item : { ...item, fallbacks: fetchable }
}

function isWebUrl(url: unknown): url is string {
  return typeof url === 'string' && /^https?:/i.test(url) && URL.canParse(url)
}

function shown(value: unknown): string {
  try {
    return JSON.stringify(value)?.slice(0, 100) ?? String(value)
  } catch {
    return String(value)
  }
}
