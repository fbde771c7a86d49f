import { Agent } from 'undici'
import { DownloadError } from '../errors.ts'
import type { Files } from '../files/files.ts'
import type { Request } from '../http/request.ts'
import { ImageResponse, PageResponse, type Response } from '../http/response.ts'
import { withoutFragment } from '../http/url.ts'
import type { Settings } from '../settings/schema.ts'
import { readStart, readToFile, readToMemory, type Incoming } from './body.ts'
import { Exchange, type Head } from './exchange.ts'
import { shownUrl, toFailure } from './failure.ts'
import { createConnector } from './guard.ts'

export interface TransportOptions {
  readonly settings: Pick<Settings, 'slot' | 'timeout' | 'pages' | 'images' | 'network'>
  readonly files: Pick<Files, 'temporaryPath'>
}

type Headers = Readonly<Record<string, string>>

interface Target {
  readonly origin: string
  readonly path: string
  readonly headers: Headers
}

/** Bytes read of an answer to an image request that is no image, such as a 404 or a redirect. */
const maxRefusalBytes = 64 * 1024

/**
 * The network: one request, one answer, no redirects. Every status from 200 to 599 is an answer; what throws is the
 * network's or the server's failure.
 */
export class Transport {
  readonly #options: TransportOptions
  readonly #agent: Agent
  /** For what is sent again: its connections are used once, so that none of them is stale too. */
  readonly #freshAgent: Agent

  constructor(options: TransportOptions) {
    const { slot, timeout, network } = options.settings
    const agentOptions: Agent.Options = {
      connections: slot.concurrency,
      pipelining: 1,
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 10_000,
      maxHeaderSize: 64 * 1024,
      allowH2: false,
      // Exchange has its own clock: undici's is up to a second late.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: createConnector({ connectMs: timeout.connectMs, allowPrivate: network.allowPrivate }),
    }
    this.#options = options
    this.#agent = new Agent(agentOptions)
    this.#freshAgent = new Agent(agentOptions)
  }

  /**
   * Sends `request` and reads the answer whole: a page into memory, an image into a temporary file.
   * @throws DownloadError when there is no complete answer; CrawlError `request` when the request can't be written;
   * StorageError when the temporary file can't be; the signal's reason when it aborts.
   */
  async fetch(request: Request, signal: AbortSignal): Promise<Response> {
    signal.throwIfAborted()
    try {
      return await this.#fetch(request, signal)
    } catch (error) {
      throw signal.aborted ? signal.reason : toFailure(error, request.url)
    }
  }

  /** Closes every connection. Whatever is still in progress fails. */
  async close(): Promise<void> {
    await Promise.all([this.#agent.destroy(), this.#freshAgent.destroy()])
  }

  async #fetch(request: Request, signal: AbortSignal): Promise<Response> {
    const target = targetOf(request)
    let exchange = this.#send(request, target, signal)
    try {
      const head = await exchange.head.catch((error: unknown) => {
        if (!isStaleConnection(error, request)) throw error
        exchange = this.#send(request, target, signal, true)
        return exchange.head
      })
      return await this.#read(request, head, exchange)
    } finally {
      exchange.close()
    }
  }

  #send(request: Request, { origin, path, headers }: Target, signal: AbortSignal, again = false): Exchange {
    const { firstByteMs, totalMs } = this.#options.settings.timeout
    const exchange = new Exchange({ name: shownUrl(request.url), silenceMs: firstByteMs, totalMs, signal })
    const body = request.body ?? null
    const agent = again ? this.#freshAgent : this.#agent
    agent.dispatch({ origin, path, method: request.method, headers, body, reset: again }, exchange)
    return exchange
  }

  async #read(request: Request, head: Head, exchange: Exchange): Promise<Response> {
    const { status, firstByteMs } = head
    const { settings, files } = this.#options
    const headers = joined(head.headers)
    const good = status < 300
    if (status === 206) refuseUnaskedPart(request, headers)
    const incoming: Incoming = {
      chunks: exchange,
      url: request.url,
      contentEncoding: headers['content-encoding'],
      contentLength: contentLengthOf(request, status, headers),
      maxBytes: request.kind === 'image' ? settings.images.maxBytes : settings.pages.maxBytes,
    }
    if (request.kind === 'image' && good) {
      const path = files.temporaryPath()
      const { size, sha256, wireBytes } = await readToFile(incoming, path)
      const timing = { firstByteMs, totalMs: exchange.elapsedMs }
      return new ImageResponse({ request, status, headers, wireBytes, timing, path, size, sha256 })
    }
    const read = request.kind === 'image' ? readStart(exchange, maxRefusalBytes) : readToMemory(incoming)
    const { body, wireBytes } = await read
    const timing = { firstByteMs, totalMs: exchange.elapsedMs }
    return new PageResponse({ request, status, headers, wireBytes, timing, body })
  }
}

/**
 * What goes on the wire. The query stays as it was written, since signed URLs depend on it; the fragment stays here; user
 * name and password become a header (RFC 7617), unless the request has one of its own.
 */
function targetOf(request: Request): Target {
  const url = withoutFragment(request.url)
  const slash = url.indexOf('/', url.indexOf('//') + 2)
  const origin = url.slice(0, slash)
  const path = url.slice(slash)
  if (!origin.includes('@')) return { origin, path, headers: request.headers }
  const { username, password, protocol, host } = new URL(url)
  const authorization = `Basic ${Buffer.from(`${unescaped(username)}:${unescaped(password)}`).toString('base64')}`
  const own = Object.keys(request.headers).some((name) => name.toLowerCase() === 'authorization')
  return { origin: `${protocol}//${host}`, path, headers: own ? request.headers : { ...request.headers, authorization } }
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * A server may close a kept connection at the moment in which it is used again (RFC 9112 §9.3.1): what may be repeated is
 * sent once more, if no byte of an answer has come.
 */
function isStaleConnection(error: unknown, { method }: Request): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET') && (method === 'GET' || method === 'HEAD')
}

function joined(headers: Head['headers']): Headers {
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (Array.isArray(value)) headers[name] = value.join(name === 'set-cookie' ? '\n' : ', ')
  }
  return headers as Headers
}

function contentLengthOf({ method }: Request, status: number, headers: Headers): number | undefined {
  const length = headers['content-length']
  return length === undefined || method === 'HEAD' || status === 204 || status === 304 ? undefined : Number(length)
}

/** RFC 9110 §15.3.7: a part is only sent to who asks for one. Taken for the whole, it would be a cut image. */
function refuseUnaskedPart(request: Request, headers: Headers): void {
  if (Object.keys(request.headers).some((name) => name.toLowerCase() === 'range')) return
  const [, last, length] = /^bytes 0-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? []
  if (last !== undefined && Number(last) + 1 === Number(length)) return
  const message = `${shownUrl(request.url)} answered with a part that nobody asked for.`
  throw new DownloadError('bad response', message, { transient: true })
}
