import type { Dispatcher } from 'undici'
import { DownloadError } from '../errors.ts'

type Controller = Dispatcher.DispatchController
type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

export interface Head {
  readonly status: number
  /** As undici gives them: names in lower case, values in Latin-1, a list for a header that came more than once. */
  readonly headers: Headers
  /** Milliseconds from sending the request. */
  readonly firstByteMs: number
}

export interface ExchangeOptions {
  /** What is asked for, in the words of a message. */
  readonly name: string
  /** Milliseconds of silence, before the head and between two pieces of the body. */
  readonly silenceMs: number
  /** Milliseconds from the beginning, connection included, to the last byte. */
  readonly totalMs: number
  /** Ends the exchange; it then fails with the signal's reason. */
  readonly signal: AbortSignal
}

/** So many bytes wait in memory for whoever reads the body before the socket is paused. */
const highWater = 256 * 1024

/**
 * One request and its answer on one socket: the head as a promise, the body as an async iterable with back-pressure.
 * It ends by being read to the end, by failing, or by `close`; until then it holds a socket.
 */
export class Exchange implements Dispatcher.DispatchHandler, AsyncIterable<Buffer> {
  readonly head: Promise<Head>
  readonly #options: ExchangeOptions
  readonly #total: NodeJS.Timeout
  #silence: NodeJS.Timeout | undefined
  #controller: Controller | undefined
  #sentAt = performance.now()
  #resolveHead!: (head: Head) => void
  #rejectHead!: (error: Error) => void
  #chunks: Buffer[] = []
  #waiting = 0
  #over = false
  #failure: Error | undefined
  #wake: (() => void) | undefined

  constructor(options: ExchangeOptions) {
    this.#options = options
    this.head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve
      this.#rejectHead = reject
    })
    const { name, totalMs, signal } = options
    this.#total = setTimeout(() => this.#fail(timedOut(`${name} was not complete within ${totalMs} ms.`)), totalMs)
    signal.addEventListener('abort', this.#abort)
  }

  /** Milliseconds since the request was sent. */
  get elapsedMs(): number {
    return performance.now() - this.#sentAt
  }

  /** Gives the socket up when the answer hasn't been read to its end; what reads it fails with `reason`. */
  close(reason?: Error): void {
    if (!this.#over) this.#fail(reason ?? new Error(`${this.#options.name} was left before its end.`))
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const chunks = this.#chunks
      if (chunks.length > 0) {
        this.#chunks = []
        this.#waiting = 0
        yield* chunks
        if (this.#controller?.paused === true && !this.#over) {
          this.#silence?.refresh()
          this.#controller.resume()
        }
      } else if (this.#failure !== undefined) throw this.#failure
      else if (this.#over) return
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#failure !== undefined) return controller.abort(this.#failure)
    this.#sentAt = performance.now()
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#silent(), this.#options.silenceMs)
  }

  onResponseStart(_controller: Controller, status: number, headers: Headers): void {
    if (status < 200) return
    this.#silence?.refresh()
    this.#resolveHead({ status, headers, firstByteMs: this.elapsedMs })
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#silence?.refresh()
    this.#chunks.push(chunk)
    this.#waiting += chunk.length
    if (this.#waiting >= highWater) controller.pause()
    this.#wake?.()
  }

  onResponseEnd(): void {
    this.#finish()
    this.#wake?.()
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#fail(error)
  }

  readonly #abort = (): void => this.#fail(this.#options.signal.reason as Error)

  /** The reader of a paused body is the slow one, not the server. */
  #silent(): void {
    if (this.#controller?.paused === true) return void this.#silence?.refresh()
    this.#fail(timedOut(`${this.#options.name} sent nothing for ${this.#options.silenceMs} ms.`))
  }

  #fail(error: Error): void {
    if (this.#over) return
    this.#failure = error
    this.#finish()
    this.#rejectHead(error)
    this.#controller?.abort(error)
    this.#wake?.()
  }

  #finish(): void {
    this.#over = true
    clearTimeout(this.#total)
    clearTimeout(this.#silence)
    this.#options.signal.removeEventListener('abort', this.#abort)
  }
}

const timedOut = (message: string): DownloadError => new DownloadError('timeout', message, { transient: true })
