import { createAbortController } from '../async/signal.ts'
import { exitCodeOfSignal } from './exit-code.ts'

export interface ShutdownOptions {
  /** Is called with the first signal, before `stopping` aborts. */
  readonly announceStop: (signal: NodeJS.Signals) => void
  /** Is called with the second signal, before `aborting` aborts. */
  readonly announceAbort?: (signal: NodeJS.Signals) => void
}

/** A signal that follows so soon is the same one: npx passes on what the terminal has already sent to all. */
const sameSignalMs = 200

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Ends a crawl by signals: the first lets what is in progress end, the second ends it at once, the third exits.
 * Nothing is lost by any of them.
 */
export class Shutdown {
  readonly #options: ShutdownOptions
  readonly #stopping = createAbortController()
  readonly #aborting = createAbortController()
  readonly #listener = (signal: NodeJS.Signals) => this.#receive(signal)
  #signal: NodeJS.Signals | undefined
  #count = 0
  #receivedAt = 0

  constructor(options: ShutdownOptions) {
    this.#options = options
    for (const signal of signals) process.on(signal, this.#listener)
  }

  /** Aborts with the first signal. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /** Aborts with the second signal. */
  get aborting(): AbortSignal {
    return this.#aborting.signal
  }

  /** The signal that came first. */
  get signal(): NodeJS.Signals | undefined {
    return this.#signal
  }

  /** Does what a first signal does. */
  stop(): void {
    this.#stopping.abort()
  }

  /** From here on a signal ends the process, as by default. */
  close(): void {
    for (const signal of signals) process.removeListener(signal, this.#listener)
  }

  #receive(signal: NodeJS.Signals): void {
    const now = performance.now()
    if (this.#count > 0 && now - this.#receivedAt < sameSignalMs) return
    this.#receivedAt = now
    this.#count++
    if (this.#count === 1) {
      this.#signal = signal
      this.#options.announceStop(signal)
      this.#stopping.abort()
    } else if (this.#count === 2) {
      this.#options.announceAbort?.(signal)
      this.#aborting.abort()
    } else {
      process.exit(exitCodeOfSignal(signal))
    }
  }
}
