/** Lets one loop sleep until something has happened or a time has come, without polling. */
export class Wakeup {
  #wake: (() => void) | undefined
  #pending = false

  /** Ends the sleep, or keeps the next one from beginning. */
  notify(): void {
    this.#pending = true
    this.#wake?.()
  }

  /** Sleeps until `notify`, at most `maxMs` milliseconds. `Infinity` waits for `notify` alone. */
  async sleep(maxMs: number): Promise<void> {
    if (!this.#pending) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        if (maxMs !== Infinity) timer = setTimeout(resolve, Math.min(maxMs, 2 ** 31 - 1))
      })
      clearTimeout(timer)
      this.#wake = undefined
    }
    this.#pending = false
  }
}
