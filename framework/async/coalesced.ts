/** Work on a key that many ask for: whoever asks while it runs shares the one run that follows. */
export class Coalesced {
  readonly #work: (key: string) => Promise<void>
  readonly #running = new Map<string, Promise<void>>()
  readonly #following = new Map<string, Promise<void>>()

  constructor(work: (key: string) => Promise<void>) {
    this.#work = work
  }

  /** Resolves after a run that began after this call. */
  run(key: string): Promise<void> {
    const running = this.#running.get(key)
    if (running === undefined) return this.#start(key)
    let following = this.#following.get(key)
    if (following === undefined) {
      const next = () => {
        this.#following.delete(key)
        return this.#start(key)
      }
      following = running.then(next, next)
      this.#following.set(key, following)
    }
    return following
  }

  #start(key: string): Promise<void> {
    const running = this.#work(key).finally(() => {
      if (this.#running.get(key) === running) this.#running.delete(key)
    })
    this.#running.set(key, running)
    return running
  }
}
