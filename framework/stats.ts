/** Counters, `group/name`: what parts add up for the report and for whoever asks. Kept in memory; a run's outcomes are the frontier's. */
export class Stats {
  readonly #counts = new Map<string, number>()

  add(name: string, by = 1): void {
    this.#counts.set(name, this.get(name) + by)
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}
