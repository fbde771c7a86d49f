import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createAbortController, delay } from '../async/signal.ts'
import { messageOf } from '../errors.ts'
import { Bodies } from './bodies.ts'
import { buildCatalog } from './catalog.ts'
import type { DemoExpectation } from './expectation.ts'
import { listen } from './listen.ts'
import { type Host, hosts, type Origins, type Resource, resourceKey } from './resource.ts'

export interface SiteOptions {
  /** Of all hosts if they can have it; 0: any free one. */
  readonly port: number
  /** Order and titles of what is shown. Default 1. */
  readonly seed?: number
  /** Closes the site when it aborts. */
  readonly signal?: AbortSignal
}

export interface DemoSite {
  /** The page to start from. */
  readonly url: string
  /** Origins: pages, images, the slow one, the busy one. */
  readonly hosts: readonly string[]
  readonly expected: DemoExpectation
  /**
   * How often each URL was requested, by method and URL: `GET http://127.0.0.1:8080/about/`. All spellings of a URL are
   * counted as the canonical one. Only the first 5,000 are told apart, the rest is counted as `other`.
   */
  requests(): Record<string, number>
  /** Ends all connections. Resolves when nothing listens any more. */
  close(): Promise<void>
}

const maxCounted = 5_000
const addresses: Readonly<Record<Host, string>> = { gallery: '127.0.0.1', cdn: '127.0.0.2', slow: '127.0.0.3', busy: '127.0.0.4' }

/**
 * Serves the demo site on loopback: four hosts on 127.0.0.1 to 127.0.0.4 and one port, or on further ports of 127.0.0.1
 * where a system has no other address.
 * @throws SettingsError when the port is taken.
 */
export async function startSite({ port, seed, signal }: SiteOptions): Promise<DemoSite> {
  signal?.throwIfAborted()
  const visitors = new Visitors()
  const createHost = () => createServer((request, response) => visitors.serve(request, response))
  const servers = new Map(hosts.map((host) => [host, createHost()]))
  const close = async () => {
    signal?.removeEventListener('abort', stop)
    visitors.dismiss()
    await Promise.all([...servers.values()].map(closeServer))
  }
  const stop = () => void close()
  try {
    const origins = await listenAll(servers, port)
    const catalog = buildCatalog(origins, seed)
    visitors.welcome(catalog.resources)
    signal?.throwIfAborted()
    signal?.addEventListener('abort', stop, { once: true })
    return {
      url: `${origins.gallery}/`, hosts: hosts.map((host) => origins[host]), expected: catalog.expected,
      requests: () => visitors.requests(), close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The first host takes the port that was asked for; the others take the same one if they can. */
async function listenAll(servers: ReadonlyMap<Host, Server>, port: number): Promise<Origins> {
  const origins: Partial<Record<Host, string>> = {}
  let common = port
  for (const [host, server] of servers) {
    const wanted = { address: addresses[host], port: common }
    const others = host === 'gallery' ? [] : [{ address: addresses[host], port: 0 }, { address: addresses.gallery, port: 0 }]
    const origin = await listen(server, [wanted, ...others])
    if (host === 'gallery') common = Number(new URL(origin).port)
    origins[host] = origin
  }
  return origins as Origins
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}

/** Answers requests, and counts them. */
class Visitors {
  readonly #bodies = new Bodies()
  readonly #requests = new Map<string, number>()
  readonly #refused = new Map<string, number>()
  readonly #leaving = createAbortController()
  #resources: ReadonlyMap<string, Resource> = new Map()

  welcome(resources: ReadonlyMap<string, Resource>): void {
    this.#resources = resources
  }

  dismiss(): void {
    this.#leaving.abort()
  }

  requests(): Record<string, number> {
    return Object.fromEntries(this.#requests)
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    this.#answer(request, response).catch((error: unknown) => {
      if (this.#leaving.signal.aborted || response.headersSent) response.destroy()
      else response.writeHead(500, { 'content-type': 'text/plain' }).end(messageOf(error))
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { localAddress, localPort } = request.socket
    const url = new URL(`http://${localAddress}:${localPort}${request.url}`)
    const resource = this.#resources.get(resourceKey(url))
    this.#count(`${request.method} ${resource?.url ?? url.href}`)
    if (resource === undefined) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('Nothing is here.\n')
    if (resource.delayMs !== undefined) await delay(resource.delayMs, this.#leaving.signal)
    if (this.#refuses(resource)) return void refuse(resource, response)
    const accepted = String(request.headers['accept-encoding'] ?? '')
    const { bytes, contentType, contentEncoding } = await this.#bodies.render(resource.body, accepted)
    response.writeHead(resource.status, {
      'content-type': contentType,
      'content-length': bytes.length,
      ...(contentEncoding === undefined ? {} : { 'content-encoding': contentEncoding, vary: 'accept-encoding' }),
      ...(resource.location === undefined ? {} : { location: resource.location }),
    })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  }

  #count(key: string): void {
    const counted = this.#requests.has(key) || this.#requests.size < maxCounted ? key : 'other'
    this.#requests.set(counted, (this.#requests.get(counted) ?? 0) + 1)
  }

  #refuses({ refusal }: Resource): boolean {
    if (refusal === undefined) return false
    const times = this.#refused.get(refusal.name) ?? 0
    if (times >= refusal.times) return false
    this.#refused.set(refusal.name, times + 1)
    return true
  }
}

function refuse({ refusal }: Resource, response: ServerResponse): void {
  const headers: Record<string, string> = { 'content-type': 'text/plain' }
  if (refusal?.retryAfterSeconds !== undefined) headers['retry-after'] = String(refusal.retryAfterSeconds)
  response.writeHead(refusal?.status ?? 500, headers).end('Come again.\n')
}
