import { createAbortController } from '../async/signal.ts'

export interface EndingOptions {
  /** Asks for a graceful end. */
  readonly stopping: AbortSignal | undefined
  /** Ends at once. */
  readonly aborting: AbortSignal | undefined
  /** Milliseconds from the graceful end to the other. */
  readonly graceMs: number
}

/** The two ways in which a crawl is ended early: no new work, and, at once or after a grace time, no work at all. */
export class Ending {
  readonly #stopping = createAbortController()
  readonly #aborting = createAbortController()
  readonly #undo: (() => void)[] = []

  constructor({ stopping, aborting, graceMs }: EndingOptions) {
    this.#listen(this.#stopping.signal, () => {
      const timer = setTimeout(() => this.abort(), graceMs)
      this.#undo.push(() => clearTimeout(timer))
    })
    if (stopping !== undefined) this.#listen(stopping, () => this.stop())
    if (aborting !== undefined) this.#listen(aborting, () => this.abort())
  }

  /** Aborts when no new work may begin. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /** Aborts when everything must end. */
  get aborting(): AbortSignal {
    return this.#aborting.signal
  }

  stop(): void {
    this.#stopping.abort(new Error('The crawl is stopping.'))
  }

  abort(): void {
    this.stop()
    this.#aborting.abort(new Error('The crawl is ending.'))
  }

  close(): void {
    for (const undo of this.#undo) undo()
  }

  #listen(signal: AbortSignal, listener: () => void): void {
    if (signal.aborted) return listener()
    signal.addEventListener('abort', listener, { once: true })
    this.#undo.push(() => signal.removeEventListener('abort', listener))
  }
}
