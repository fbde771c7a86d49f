import { CrawlError, UrlError } from '../errors.ts'
import { fingerprint } from './fingerprint.ts'
import { isWeb, parseUrl } from './url.ts'
import type { FoundItem, Item } from '../item.ts'
import type { Json, JsonObject } from '../json.ts'

export interface RequestOptions {
  /** A page's body is held in memory and goes to a callback; an image's goes to a file and to the pipelines. Default `page`. */
  readonly kind?: 'page' | 'image'
  /** Default `GET`. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Name of the spider method that gets the response. Default `parse`. */
  readonly callback?: string
  /** Second argument of the callback. Stored with the request, so JSON only. Default `{}`. */
  readonly meta?: JsonObject
  /** Higher goes first. Default 0 for pages, 10 for images, so that the frontier stays small. */
  readonly priority?: number
  /** Links followed from a start request. Default 0. */
  readonly depth?: number
  /** Politeness unit: requests of one slot share its delay and concurrency. Default: host and port of the URL. */
  readonly slot?: string
  /** Requests that differ in their fragment only are different ones: a page that routes by it. Default false. */
  readonly keepFragment?: boolean
  /** Encoding in which non-ASCII text in the query is sent: that of the page with the link. Default `utf-8`. */
  readonly encoding?: string
  /** Fetched even if the run has met the same request before. Default false. */
  readonly dontFilter?: boolean
  /** Names of headers that make two requests different. Default none. */
  readonly fingerprintHeaders?: readonly string[]
  /** URL of the page that this was found on, sent as Referer. */
  readonly referer?: string
  /** What an image request is for. */
  readonly item?: Item | FoundItem
}

const brand = Symbol.for('orbweaver.request')
const noHeaders: Readonly<Record<string, string>> = Object.freeze({})
const noMeta: JsonObject = Object.freeze({})
const noNames: readonly string[] = Object.freeze([])

/** What to fetch and what to do with the answer. Immutable, and nothing but data, so that a crawl can stop and go on. */
export class Request {
  readonly url: string
  readonly kind: 'page' | 'image'
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly callback: string
  readonly meta: JsonObject
  readonly priority: number
  readonly depth: number
  readonly slot: string
  readonly keepFragment: boolean
  readonly dontFilter: boolean
  readonly fingerprintHeaders: readonly string[]
  readonly referer: string | undefined
  readonly item: Item | FoundItem | undefined
  readonly [brand] = true
  #fingerprint: string | undefined

  /** @throws UrlError when `url` isn't an absolute http(s) URL; CrawlError `request` when `priority` or `depth` is no number. */
  constructor(url: string | URL, options: RequestOptions = {}) {
    const parsed = typeof url === 'string' ? parseUrl(url, undefined, options.encoding) : url
    if (!isWeb(parsed.protocol)) throw new UrlError(`"${parsed.href.slice(0, 200)}" is not http or https.`)
    this.url = parsed.href
    this.kind = options.kind ?? 'page'
    this.method = (options.method ?? 'GET').toUpperCase()
    this.headers = options.headers ?? noHeaders
    this.body = options.body
    this.callback = options.callback ?? 'parse'
    this.meta = options.meta ?? noMeta
    this.priority = options.priority ?? (this.kind === 'image' ? 10 : 0)
    this.depth = options.depth ?? 0
    if (!Number.isFinite(this.priority) || !Number.isFinite(this.depth)) {
      throw new CrawlError('request', `The priority and the depth of a request must be numbers, not ${this.priority} and ${this.depth} (${this.url}).`, { reason: 'bad request' })
    }
    // SQLite ends a text at a NUL, and half of a surrogate pair is no text in UTF-8.
    this.slot = options.slot?.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd') ?? parsed.host
    this.keepFragment = options.keepFragment ?? false
    this.dontFilter = options.dontFilter ?? false
    this.fingerprintHeaders = options.fingerprintHeaders ?? noNames
    this.referer = options.referer
    this.item = options.item
  }

  /** 128-bit hash of method, canonical URL, body and `fingerprintHeaders`: two requests with one fingerprint are the same request. */
  get fingerprint(): string {
    return (this.#fingerprint ??= fingerprint(this, { keepFragments: this.keepFragment }))
  }

  /** A copy with some of it changed. A new `url` on another host moves the request to that host's slot. */
  with(change: RequestOptions & { readonly url?: string | URL }): Request {
    const { url, ...options } = change
    const ownSlot = this.slot !== parseUrl(this.url).host
    return new Request(url ?? this.url, { ...this.#options(), ...(ownSlot ? { slot: this.slot } : {}), ...options })
  }

  #options(): RequestOptions {
    const { kind, method, headers, callback, meta, priority, depth, keepFragment, dontFilter, fingerprintHeaders } = this
    return {
      kind, method, headers, callback, meta, priority, depth, keepFragment, dontFilter, fingerprintHeaders,
      ...(this.body === undefined ? {} : { body: this.body }),
      ...(this.referer === undefined ? {} : { referer: this.referer }),
      ...(this.item === undefined ? {} : { item: this.item }),
    }
  }

  /** What differs from the defaults, as JSON: how a request is kept in the frontier. */
  toJSON(): JsonObject {
    const json: Record<string, Json> = { url: this.url }
    if (this.kind !== 'page') json['kind'] = this.kind
    if (this.method !== 'GET') json['method'] = this.method
    if (Object.keys(this.headers).length > 0) json['headers'] = this.headers
    if (typeof this.body === 'string') json['body'] = this.body
    else if (this.body !== undefined) json['bytes'] = Buffer.from(this.body).toString('base64')
    if (this.callback !== 'parse') json['callback'] = this.callback
    if (Object.keys(this.meta).length > 0) json['meta'] = this.meta
    if (this.priority !== (this.kind === 'image' ? 10 : 0)) json['priority'] = this.priority
    if (this.depth !== 0) json['depth'] = this.depth
    if (this.slot !== parseUrl(this.url).host) json['slot'] = this.slot
    if (this.keepFragment) json['keepFragment'] = true
    if (this.dontFilter) json['dontFilter'] = true
    if (this.fingerprintHeaders.length > 0) json['fingerprintHeaders'] = this.fingerprintHeaders
    if (this.referer !== undefined) json['referer'] = this.referer
    if (this.item !== undefined) json['item'] = this.item as unknown as Json
    return json
  }

  /** The request that `toJSON` was called on. */
  static fromJSON(json: JsonObject): Request {
    const { url, bytes, ...options } = json as unknown as { url: string; bytes?: string } & RequestOptions
    return new Request(url, bytes === undefined ? options : { ...options, body: Buffer.from(bytes, 'base64') })
  }

  /** True for requests of any copy of this package; use it where `instanceof` would be used. */
  static is(value: unknown): value is Request {
    return typeof value === 'object' && value !== null && brand in value
  }
}
