export interface LimitsOptions {
  /** 0: no limit, for each of them. */
  readonly images: number
  readonly pages: number
  readonly bytes: number
  readonly errors: number
  readonly timeMs: number
  /** Is called once, with the name of the limit that was reached. */
  readonly onReached: (name: string) => void
}

/** Ends a crawl when enough has been done. What is in progress ends first, so that a few more may come. */
export class Limits {
  readonly #options: LimitsOptions
  readonly #timer: NodeJS.Timeout | undefined
  #images = 0
  #pages = 0
  #bytes = 0
  #errors = 0
  #reached: string | undefined

  constructor(options: LimitsOptions) {
    this.#options = options
    if (options.timeMs > 0) this.#timer = setTimeout(() => this.#reach('limits.timeMs'), options.timeMs)
  }

  /** The limit that was reached, if one was. */
  get reached(): string | undefined {
    return this.#reached
  }

  countImage(): void {
    if (++this.#images === this.#options.images) this.#reach('limits.images')
  }

  countPage(): void {
    if (++this.#pages === this.#options.pages) this.#reach('limits.pages')
  }

  /** Bytes of a body, as they were received. */
  countBytes(bytes: number): void {
    const { bytes: limit } = this.#options
    this.#bytes += bytes
    if (limit > 0 && this.#bytes >= limit) this.#reach('limits.bytes')
  }

  /** A request that was given up. */
  countError(): void {
    if (++this.#errors === this.#options.errors) this.#reach('limits.errors')
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #reach(name: string): void {
    if (this.#reached !== undefined) return
    this.#reached = name
    this.#options.onReached(name)
  }
}
