import { createRequire } from 'node:module'
import type * as Cheerio from 'cheerio'
import type { Item } from '../item.ts'
import type { Json, JsonObject } from '../json.ts'
import { CrawlError, messageOf } from '../errors.ts'
import { decodeText, type DecodedText } from './charset.ts'
import { maxLinks, maxUrlLength, scanMarkup, type Markup } from './html.ts'
import { Request, type RequestOptions } from './request.ts'
import { isWeb, parseUrl } from './url.ts'

/**
 * What one call of `links()` or `images()` may cost: characters of URLs parsed, those of the base each time. Enough for
 * 50,000 links of 300 characters under a base as long; a long base under many links reaches it.
 */
const maxParsedCharacters = 30_000_000
/** What is found to be no URL costs as much as so many characters of one. */
const charactersPerRefusal = 1_000
/** Links and images of a page whose parsed form is kept, so that following them doesn't parse them again. */
const maxResolved = 10_000

/** Loaded when a callback first asks for `$`: it takes longer to load than all else that a crawl of plain links needs. */
const require = createRequire(import.meta.url)
const loadCheerio = () => require('cheerio') as typeof Cheerio

/** One hop of a redirect chain: the URL that was asked and the status that sent on. */
export interface Redirect {
  readonly url: string
  readonly status: number
}

/** Milliseconds from sending the request. */
export interface Timing {
  readonly firstByteMs: number
  readonly totalMs: number
}

export interface ResponseOptions {
  readonly request: Request
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Bytes of the body as they came over the wire, before decoding. */
  readonly wireBytes?: number
  readonly timing?: Timing
  readonly redirects?: readonly Redirect[]
}

/** What answered a request: a `PageResponse` or an `ImageResponse`, told apart by `kind`. */
export abstract class Response {
  abstract readonly kind: 'page' | 'image'
  /** The request that was answered: after redirects, the last one. */
  readonly request: Request
  readonly status: number
  /** Names in lower case; the values of a repeated header joined with `, ` (set-cookie: with a line break). */
  readonly headers: Readonly<Record<string, string>>
  readonly wireBytes: number
  readonly timing: Timing
  /** The hops before this answer, first to last. */
  readonly redirects: readonly Redirect[]

  constructor(options: ResponseOptions) {
    this.request = options.request
    this.status = options.status
    this.headers = options.headers
    this.wireBytes = options.wireBytes ?? 0
    this.timing = options.timing ?? { firstByteMs: 0, totalMs: 0 }
    this.redirects = options.redirects ?? []
  }

  get url(): string {
    return this.request.url
  }

  isImage(): this is ImageResponse {
    return this.kind === 'image'
  }

  isPage(): this is PageResponse {
    return this.kind === 'page'
  }

  /** The same answer with the hops that led to it. */
  abstract withRedirects(redirects: readonly Redirect[]): Response
}

export interface ImageResponseOptions extends ResponseOptions {
  readonly path: string
  readonly size: number
  readonly sha256: string
}

/** An image's bytes, in a temporary file beside the final store, so that keeping it is a rename. */
export class ImageResponse extends Response {
  readonly kind = 'image'
  readonly path: string
  /** Bytes, decoded. */
  readonly size: number
  readonly sha256: string

  constructor(options: ImageResponseOptions) {
    super(options)
    this.path = options.path
    this.size = options.size
    this.sha256 = options.sha256
  }

  override withRedirects(redirects: readonly Redirect[]): ImageResponse {
    return new ImageResponse({ ...this, redirects })
  }
}

/** A spider method. Its name is stored with the request, so it must be a method of the spider. */
export type Callback<Meta extends JsonObject = JsonObject> = (page: PageResponse, meta: Meta) => Results<any>

/** What a callback yields: requests to follow and images to harvest. Annotate callbacks with it to have the data checked. */
export type Results<Data extends object = JsonObject> = AsyncGenerator<Request | Item<Data>, void, undefined>

export interface PageResponseOptions extends ResponseOptions {
  readonly body: Buffer
}

/** A page, its body in memory and decoded. */
export class PageResponse extends Response {
  readonly kind = 'page'
  readonly body: Buffer
  #decoded: DecodedText | undefined
  #markup: Markup | undefined
  #base: URL | undefined
  /** By their absolute form, at most `maxResolved`. */
  readonly #resolved = new Map<string, URL>()
  #$: Cheerio.CheerioAPI | undefined

  constructor(options: PageResponseOptions) {
    super(options)
    this.body = options.body
  }

  override withRedirects(redirects: readonly Redirect[]): PageResponse {
    return new PageResponse({ ...this, redirects })
  }

  /** The body decoded by byte order mark, header, then `<meta>`. */
  get text(): string {
    return this.#decode().text
  }

  /** WHATWG name of the encoding that `text` was decoded by. */
  get encoding(): string {
    return this.#decode().encoding
  }

  /** The parsed page, as cheerio gives it. Built on first use; `links()` and `images()` don't need it. */
  get $(): Cheerio.CheerioAPI {
    return (this.#$ ??= loadCheerio().load(this.text, { baseURI: this.url }))
  }

  /** What relative URLs of this page are relative to: its `<base>` unless that is longer than 8,000 characters, else its own URL. */
  get base(): URL {
    if (this.#base === undefined) {
      const own = parseUrl(this.url)
      const { base } = this.#scan()
      const declared = base === undefined ? undefined : tryParse(base, own)
      this.#base = declared !== undefined && isWeb(declared.protocol) ? declared : own
    }
    return this.#base
  }

  /** @throws CrawlError when the body is no JSON. */
  json<T = Json>(): T {
    try {
      return JSON.parse(this.text) as T
    } catch (cause) {
      throw new CrawlError('json', `${this.url} is no JSON: ${messageOf(cause)}`, { reason: 'not json', cause })
    }
  }

  /** The absolute form of a URL of this page; undefined when it isn't an http(s) URL. */
  resolve(url: string): string | undefined {
    const parsed = tryParse(url, this.base, this.encoding)
    return parsed !== undefined && isWeb(parsed.protocol) ? parsed.href : undefined
  }

  /**
   * Absolute http(s) URLs, in order, each once: of every `a[href]` in one pass without a tree, or of what `selector`
   * matches. URLs longer than 8,000 characters are left out, and so are links beyond the first 50,000 of a page, or fewer
   * under a base of more than 300 characters.
   * @param attribute where the URL is. Default `href`.
   */
  links(selector?: string, attribute = 'href'): string[] {
    const found = selector === undefined ? this.#scan().links : this.$(selector).toArray().flatMap((element) => this.$(element).attr(attribute) ?? [])
    return this.#resolveAll(found, new Allowance())
  }

  /**
   * Every `img` of the page as an item, in one pass without a tree: the best candidate of srcset, picture, lazy-load
   * attributes and `src` as its URL, the others as its fallbacks. At most the first 20,000 of a page with 100 candidates
   * each; URLs longer than 8,000 characters are left out.
   */
  images<Data extends object = JsonObject>(data?: Data): Item<Data>[] {
    const items: Item<Data>[] = []
    const seen = new Set<string>()
    const allowance = new Allowance()
    for (const { candidates, alt } of this.#scan().images) {
      const [url, ...fallbacks] = this.#resolveAll(candidates, allowance)
      if (url === undefined || seen.has(url)) continue
      seen.add(url)
      items.push(this.#item(url, (data ?? {}) as Data, alt, fallbacks))
    }
    return items
  }

  /**
   * An image of this page to harvest.
   * @throws UrlError when `url` can't be resolved to an http(s) URL.
   */
  image<Data extends object = JsonObject>(
    url: string,
    data: Data = {} as Data,
    options: { readonly alt?: string; readonly fallbacks?: readonly string[] } = {},
  ): Item<Data> {
    const { alt = '', fallbacks = [] } = options
    return this.#item(this.#parse(url).href, data, alt, this.#resolveAll(fallbacks, new Allowance()))
  }

  /**
   * A request for a page linked from this one, one level deeper. Its `meta` is the second argument of `callback`.
   * @throws UrlError when `url` can't be resolved to an http(s) URL.
   */
  follow(url: string): Request
  follow(url: string, callback: Callback<{}>, options?: RequestOptions): Request
  follow<Meta extends JsonObject>(url: string, callback: Callback<Meta>, options: RequestOptions & { readonly meta: Meta }): Request
  follow(url: string, callback?: Callback<any>, options: RequestOptions = {}): Request {
    return new Request(this.#parse(url), {
      depth: this.request.depth + 1,
      referer: this.url,
      ...(callback === undefined ? {} : { callback: callback.name }),
      ...options,
    })
  }

  /** What `links()` and `images()` have resolved isn't parsed again. */
  #parse(url: string): URL {
    return this.#resolved.get(url) ?? parseUrl(url, this.base, this.encoding)
  }

  #item<Data extends object>(url: string, data: Data, alt: string, fallbacks: readonly string[]): Item<Data> {
    return { url, pageUrl: this.url, data, ...(alt === '' ? {} : { alt }), ...(fallbacks.length === 0 ? {} : { fallbacks }) }
  }

  #resolveAll(urls: readonly string[], allowance: Allowance): string[] {
    const found = new Set<string>()
    const { base, encoding } = this
    const baseLength = base.href.length
    for (const url of urls) {
      if (found.size >= maxLinks) break
      if (url.length > maxUrlLength) continue
      if (!allowance.take(baseLength + url.length)) break
      const parsed = this.#resolved.get(url) ?? tryParse(url, base, encoding)
      if (parsed === undefined) allowance.take(charactersPerRefusal)
      if (parsed === undefined || !isWeb(parsed.protocol)) continue
      const { href } = parsed
      if (href.length > maxUrlLength) continue
      if (this.#resolved.size < maxResolved) this.#resolved.set(href, parsed)
      found.add(href)
    }
    return [...found]
  }

  #decode(): DecodedText {
    return (this.#decoded ??= decodeText(this.body, this.headers['content-type'] ?? ''))
  }

  #scan(): Markup {
    return (this.#markup ??= scanMarkup(this.text))
  }
}

class Allowance {
  #characters = maxParsedCharacters

  /** False when it is used up. */
  take(characters: number): boolean {
    this.#characters -= characters
    return this.#characters >= 0
  }
}

function tryParse(url: string, base: URL, encoding?: string): URL | undefined {
  try {
    return parseUrl(url, base, encoding)
  } catch {
    return undefined
  }
}
