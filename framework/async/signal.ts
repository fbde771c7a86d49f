import { setMaxListeners } from 'node:events'

/** An abort controller that many workers may listen to without Node's leak warning. */
export function createAbortController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

/**
 * A time limit that can be paused, and that ends with `parent` too. One listener, removed by `close`: `AbortSignal.any` on
 * Node 20 keeps every composite of a long-lived signal alive (nodejs/node#54614).
 */
export class Deadline {
  readonly #parent: AbortSignal
  readonly #controller = createAbortController()
  readonly #onTimeout: () => Error
  readonly #stop = () => this.#controller.abort(this.#parent.reason)
  #leftMs: number
  #startedAt = 0
  #timer: NodeJS.Timeout | undefined

  /** @throws the reason of `parent` when it has aborted already. */
  constructor(parent: AbortSignal, limitMs: number, onTimeout: () => Error) {
    parent.throwIfAborted()
    this.#parent = parent
    this.#leftMs = limitMs
    this.#onTimeout = onTimeout
    parent.addEventListener('abort', this.#stop, { once: true })
    this.resume()
  }

  /** Aborts with `parent`, or when the time is over. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** What follows isn't counted, until `resume`. */
  pause(): void {
    clearTimeout(this.#timer)
    this.#leftMs -= Date.now() - this.#startedAt
  }

  resume(): void {
    this.#startedAt = Date.now()
    this.#timer = setTimeout(() => this.#controller.abort(this.#onTimeout()), Math.max(0, this.#leftMs))
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#parent.removeEventListener('abort', this.#stop)
  }
}

/**
 * Waits for `work`, or rejects with the signal's reason when it aborts first: for what doesn't listen to a signal itself.
 */
export async function abortable<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted()
  let stop = (): void => {}
  const aborted = new Promise<never>((_, reject) => (stop = () => reject(signal.reason)))
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Waits `ms` milliseconds, or rejects with the signal's reason when it aborts first. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
