import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createAbortController } from '../async/signal.ts'
import { SettingsError } from '../errors.ts'
import { buildCatalog } from './catalog.ts'
import type { SiteMessage, SiteQuestion } from './main.ts'
import { hosts, type Origins } from './resource.ts'
import type { DemoSite, SiteOptions } from './site.ts'

/** The demo site in a process of its own, so that painting pictures doesn't hold up the crawler. */
export interface SiteProcess extends Omit<DemoSite, 'requests'> {
  readonly pid: number
  /** Aborts when the process ends before `close`; its reason is an error that tells why. */
  readonly crashed: AbortSignal
  /** As `DemoSite.requests`. Rejects when the process has ended. */
  requests(): Promise<Record<string, number>>
}

const maxErrorLength = 2_000
const closeMs = 2_000

/**
 * Starts the demo site in a process of its own and waits until it listens. The process ends with this one, however this
 * one ends.
 * @throws SettingsError when the port is taken.
 */
export async function spawnSite({ port, seed, signal }: SiteOptions): Promise<SiteProcess> {
  signal?.throwIfAborted()
  const source = import.meta.url.endsWith('.ts')
  const child = fork(new URL(source ? './main.ts' : './main.js', import.meta.url), [JSON.stringify({ port, seed })], {
    execArgv: source ? ['--import', import.meta.resolve('tsx')] : [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const conversation = new Conversation(child)
  const stop = () => void conversation.close()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    const started = await conversation.started
    const origins = Object.fromEntries(hosts.map((host, index) => [host, started.hosts[index]])) as Origins
    return {
      url: started.url,
      hosts: started.hosts,
      get expected() {
        return buildCatalog(origins, seed).expected
      },
      pid: child.pid ?? 0,
      crashed: conversation.crashed,
      requests: () => conversation.requests(),
      async close() {
        signal?.removeEventListener('abort', stop)
        await conversation.close()
      },
    }
  } catch (error) {
    signal?.removeEventListener('abort', stop)
    await conversation.close()
    signal?.throwIfAborted()
    throw error
  }
}

interface Waiting<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

class Conversation {
  readonly started: Promise<SiteMessage & { kind: 'listening' }>
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  readonly #crash = createAbortController()
  readonly #questions = new Map<number, Waiting<Record<string, number>>>()
  #starting: Waiting<SiteMessage & { kind: 'listening' }> | undefined
  #asked = 0
  #errors = ''
  #closing = false

  constructor(child: ChildProcess) {
    this.#child = child
    this.started = new Promise((resolve, reject) => (this.#starting = { resolve, reject }))
    this.#ended = this.#watch(child)
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#errors = (this.#errors + text).slice(-maxErrorLength)))
    child.on('message', (message: SiteMessage) => this.#hear(message))
  }

  get crashed(): AbortSignal {
    return this.#crash.signal
  }

  requests(): Promise<Record<string, number>> {
    return new Promise((resolve, reject) => {
      if (!this.#child.connected) return reject(this.#crash.signal.reason ?? new Error('The demo site is closed.'))
      const id = this.#asked++
      this.#questions.set(id, { resolve, reject })
      this.#child.send({ id } satisfies SiteQuestion, (error) => {
        if (error !== null) reject(error)
      })
    })
  }

  async close(): Promise<void> {
    this.#closing = true
    if (this.#child.connected) this.#child.disconnect()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), closeMs)
    await this.#ended
    clearTimeout(timer)
  }

  /** The event `close` wouldn't do: it doesn't come when it was this side that disconnected. */
  async #watch(child: ChildProcess): Promise<void> {
    try {
      const written = child.stderr === null ? undefined : once(child.stderr, 'close')
      const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
      await written
      this.#end(new Error(this.#explain(code, signal)))
    } catch (error) {
      this.#end(error)
    }
  }

  #hear(message: SiteMessage): void {
    if (message.kind === 'listening') this.#starting?.resolve(message)
    else if (message.kind === 'failed') this.#starting?.reject(new SettingsError(message.message))
    else {
      this.#questions.get(message.id)?.resolve(message.requests)
      this.#questions.delete(message.id)
    }
  }

  #end(error: unknown): void {
    this.#starting?.reject(error)
    for (const { reject } of this.#questions.values()) reject(error)
    this.#questions.clear()
    if (!this.#closing) this.#crash.abort(error)
  }

  #explain(code: number | null, signal: NodeJS.Signals | null): string {
    const how = signal === null ? `exit code ${code}` : signal
    const errors = this.#errors.trim()
    return `The process of the demo site has ended (${how})${errors === '' ? '.' : `:\n${errors}`}`
  }
}
