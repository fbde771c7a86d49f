import { compose, type Middleware } from '../compose.ts'
import type { Request } from '../http/request.ts'
import type { Response } from '../http/response.ts'
import type { Slots, Visit } from '../slots/slots.ts'
import { Places, type Held } from './places.ts'
import type { Transport } from './transport.ts'

export interface DownloaderOptions {
  /** Outermost first. */
  readonly middlewares: readonly Middleware<Request, Promise<Response>>[]
  readonly slots: Slots
  readonly transport: Pick<Transport, 'fetch' | 'close'>
  /** Ends everything that is in progress or waits. */
  readonly signal: AbortSignal
}

/** Fetches requests through the middlewares. Whatever they ask the network for enters its host's slot first. */
export class Downloader {
  readonly #options: DownloaderOptions
  readonly #through: (request: Request, core: (request: Request) => Promise<Response>) => Promise<Response>
  readonly #places: Places

  constructor(options: DownloaderOptions) {
    this.#options = options
    this.#through = compose(options.middlewares)
    this.#places = new Places(options.slots, options.signal)
  }

  /**
   * Answers what came of `request`, or throws what a middleware or the transport threw.
   * @param visit a place at the request's slot, entered already; it is given back in any case.
   */
  async fetch(request: Request, visit: Visit): Promise<Response> {
    const held = this.#places.hold(visit)
    try {
      return await this.#through(request, (hop) => this.#download(hop, held))
    } finally {
      this.#places.drop(held)
    }
  }

  /** Closes the connections. */
  async close(): Promise<void> {
    await this.#options.transport.close()
  }

  async #download(request: Request, held: Held): Promise<Response> {
    const place = await this.#places.take(request.slot, held)
    try {
      return await this.#options.transport.fetch(request, this.#options.signal)
    } finally {
      place.end()
    }
  }
}
