/** Marks errors of any copy of this package, where `instanceof` would only know its own. */
const brand = Symbol.for('orbweaver.error')

export interface CrawlErrorOptions {
  /** A few words, the same for all errors of this kind: what reports count by. Default: the code. */
  readonly reason?: string
  readonly cause?: unknown
}

/** An error that orbweaver knows. `code` is stable; `reason` is what reports count by; `message` says what to do. */
export class CrawlError extends Error {
  readonly code: string
  readonly reason: string
  readonly [brand] = true

  constructor(code: string, message: string, options: CrawlErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    this.reason = options.reason ?? code
  }
}

/** True for errors of any copy of this package with this code, or with any code. */
export function isCrawlError(error: unknown, code?: string): error is CrawlError {
  if (!(error instanceof Error) || !(brand in error)) return false
  return code === undefined || (error as CrawlError).code === code
}

/** A wrong setting, argument or command line. Thrown before anything is opened; exit code 2. */
export class SettingsError extends CrawlError {
  constructor(message: string, options?: CrawlErrorOptions) {
    super('settings', message, options)
  }
}

/** A URL that can't be fetched: not absolute, not http or https, or malformed. */
export class UrlError extends CrawlError {
  constructor(message: string, options?: CrawlErrorOptions) {
    super('url', message, { reason: 'bad url', ...options })
  }
}

/** The database, the frontier or the file store can't be read or written; exit code 6. */
export class StorageError extends CrawlError {
  constructor(message: string, options?: CrawlErrorOptions) {
    super('storage', message, options)
  }
}

/** A request is not wanted or not to be had, on purpose: robots.txt, off site, 404. Settled as `ignored`. */
export class IgnoreRequest extends CrawlError {
  constructor(reason: string, options: { readonly message?: string; readonly cause?: unknown } = {}) {
    super('ignore', options.message ?? reason, { ...options, reason })
  }
}

/** A request may succeed later. Settled as `retry` until `retry.attempts` are used up, then as `failed`. */
export class RetryRequest extends CrawlError {
  /** Milliseconds from now before which it isn't tried again; undefined: by `retry.backoffMs` and the attempts so far. */
  readonly afterMs: number | undefined
  /** False when the host asked for patience (429): the try isn't counted against `retry.attempts`. Default true. */
  readonly counted: boolean

  constructor(
    reason: string,
    options: { readonly afterMs?: number; readonly counted?: boolean; readonly message?: string; readonly cause?: unknown } = {},
  ) {
    super('retry', options.message ?? reason, { cause: options.cause, reason })
    this.afterMs = options.afterMs !== undefined && options.afterMs >= 0 ? Math.min(options.afterMs, Number.MAX_SAFE_INTEGER) : undefined
    this.counted = options.counted ?? true
  }
}

/** An item is not wanted: thrown by pipelines. Settled as `dropped`, and no later run downloads the image again. */
export class DropItem extends CrawlError {
  constructor(reason: string, options: { readonly message?: string } = {}) {
    super('drop', options.message ?? reason, { reason })
  }
}

export type DownloadFailure =
  | 'timeout'
  | 'dns'
  | 'refused'
  | 'reset'
  | 'tls'
  | 'too large'
  | 'bad encoding'
  | 'bad response'
  | 'forbidden address'
  | 'network'

/** A request got no complete answer. `transient` says whether a later try may succeed. */
export class DownloadError extends CrawlError {
  readonly transient: boolean

  constructor(reason: DownloadFailure, message: string, options: { readonly transient: boolean; readonly cause?: unknown }) {
    super('download', message, { cause: options.cause, reason })
    this.transient = options.transient
  }
}

export type ImageFailure = 'empty' | 'not an image' | 'unsupported format' | 'truncated' | 'broken' | 'too many pixels'

/** The bytes that came are not a whole image that may be kept. */
export class ImageError extends CrawlError {
  constructor(reason: ImageFailure, message: string, options: { readonly cause?: unknown } = {}) {
    super('image', message, { cause: options.cause, reason })
  }
}

/** The text of anything that was thrown, in one line of at most `maxLength` characters: database errors carry whole statements. */
export function messageOf(error: unknown, maxLength = 300): string {
  const text = (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').trim()
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
}
