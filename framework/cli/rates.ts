import type { Stats } from '../stats.ts'

/** What the counters of a crawl add up to, and how fast they have grown lately. */
export interface Rates {
  readonly pagesPerSecond: number
  readonly imagesPerSecond: number
  readonly bytesPerSecond: number
}

interface Sample {
  readonly at: number
  readonly pages: number
  readonly images: number
  readonly bytes: number
}

/** Rates over the last `windowMs`: samples are taken at most twice a second, so that few are held. */
export class RateWindow {
  readonly #stats: Stats
  readonly #windowMs: number
  #samples: Sample[] = []

  constructor(stats: Stats, windowMs = 10_000) {
    this.#stats = stats
    this.#windowMs = windowMs
    this.#samples.push(this.#sample())
  }

  rates(): Rates {
    const sample = this.#sample()
    const last = this.#samples.at(-1)
    if (last === undefined || sample.at - last.at >= 500) this.#samples.push(sample)
    while (this.#samples.length > 2 && (this.#samples[1] as Sample).at <= sample.at - this.#windowMs) this.#samples.shift()
    const first = this.#samples[0] as Sample
    const seconds = Math.max((sample.at - first.at) / 1000, 0.001)
    return {
      pagesPerSecond: (sample.pages - first.pages) / seconds,
      imagesPerSecond: (sample.images - first.images) / seconds,
      bytesPerSecond: (sample.bytes - first.bytes) / seconds,
    }
  }

  #sample(): Sample {
    return { at: Date.now(), ...countWork(this.#stats.toJSON()) }
  }
}

/** Pages read, images downloaded and looked at, and bytes received. */
export function countWork(stats: Readonly<Record<string, number>>): { pages: number; images: number; bytes: number } {
  const sum = (...names: string[]) => names.reduce((total, name) => total + (stats[name] ?? 0), 0)
  return {
    pages: sum('pages/done'),
    images: sum('images/done', 'images/dropped'),
    bytes: sum('pages/wireBytes', 'images/wireBytes'),
  }
}
