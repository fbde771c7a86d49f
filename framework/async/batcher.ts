interface Entry<In, Out> {
  readonly input: In
  readonly resolve: (output: Out) => void
  readonly reject: (error: unknown) => void
}

export interface BatcherOptions<In, Out> {
  /** Commits the batch; answers one result an input, in order. */
  readonly flush: (inputs: readonly In[]) => Promise<readonly Out[]>
  /** A batch is flushed when it holds so many. */
  readonly max: number
  /** Whether one input may be what made a batch fail, so that the others are worth another try. Default: always. */
  readonly isInputError?: (error: unknown) => boolean
  /** Milliseconds that a first input waits for others. */
  readonly waitMs: number
}

/**
 * Many writers, one flush: what is handed in within a few milliseconds is committed together, and each writer resumes
 * when its own is. A batch that a bad input made fail is written again one by one, so that it fails alone.
 */
export class Batcher<In, Out> {
  readonly #options: BatcherOptions<In, Out>
  #entries: Entry<In, Out>[] = []
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: BatcherOptions<In, Out>) {
    this.#options = options
  }

  add(input: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#entries.push({ input, resolve, reject })
      if (this.#entries.length >= this.#options.max) this.#start()
      else this.#timer ??= setTimeout(() => this.#start(), this.#options.waitMs)
    })
  }

  /** Flushes what waits and resolves when everything handed in before is committed or has failed. */
  async drain(): Promise<void> {
    this.#start()
    await this.#running
  }

  #start(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const entries = this.#entries
    if (entries.length === 0) return
    this.#entries = []
    this.#running = this.#running.then(() => this.#flush(entries))
  }

  async #flush(entries: readonly Entry<In, Out>[]): Promise<void> {
    try {
      const outputs = await this.#options.flush(entries.map((entry) => entry.input))
      entries.forEach((entry, index) => entry.resolve(outputs[index] as Out))
    } catch (error) {
      if (entries.length === 1 || this.#options.isInputError?.(error) === false) return entries.forEach((entry) => entry.reject(error))
      for (const entry of entries) await this.#flush([entry])
    }
  }
}
