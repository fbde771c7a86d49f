import type { LiveCrawl } from '../run.ts'
import type { SlotState } from '../slots/slots.ts'
import { cleanText } from './clean.ts'
import { formatBytes, formatClock, formatCount, formatDuration, formatRate } from './format.ts'
import type { Paint } from './paint.ts'
import { RateWindow } from './rates.ts'

/** What a running crawl looks like, in lines. */
export class Progress {
  readonly #live: LiveCrawl
  readonly #paint: Paint
  readonly #rates: RateWindow
  readonly #startedAt = Date.now()
  /** Set when the crawl has been asked to stop. */
  stopping = false

  constructor(live: LiveCrawl, paint: Paint) {
    this.#live = live
    this.#paint = paint
    this.#rates = new RateWindow(live.stats)
  }

  /** Up to six lines: the pace, the queue, the images, and up to three slow hosts. */
  lines(): string[] {
    const label = (text: string) => this.#paint('dim', text.padEnd(9))
    const state = this.stopping ? this.#paint('yellow', 'stopping') : this.#paint('green', 'crawling')
    return [
      `${label(this.#live.spider.slice(0, 8))}${state} ${formatDuration(Math.floor((Date.now() - this.#startedAt) / 1000) * 1000)} · ${this.#pace()}`,
      `${label('queue')}${this.#queue()}`,
      `${label('images')}${this.#images()}`,
      ...slowest(this.#live.slots()).map((slot, index) => `${label(index === 0 ? 'slow' : '')}${describeSlot(slot)}`),
    ]
  }

  /** The same in one line, for logs. */
  line(): string {
    const [slow] = slowest(this.#live.slots(), 1)
    return [`${this.#pace()} | queue: ${this.#queue()} | images: ${this.#images()}`, ...(slow === undefined ? [] : [`slow: ${describeSlot(slow)}`])].join(' | ')
  }

  #pace(): string {
    const { pagesPerSecond, imagesPerSecond, bytesPerSecond } = this.#rates.rates()
    return `${formatRate(pagesPerSecond)} pages/s · ${formatRate(imagesPerSecond)} images/s · ${formatBytes(bytesPerSecond)}/s`
  }

  #queue(): string {
    const { pending, delayed, leased, failed } = this.#live.counts()
    const parts = [`${formatCount(pending - delayed)} pending`, `${formatCount(delayed)} delayed`, `${formatCount(leased)} in progress`]
    if (failed > 0) parts.push(`${formatCount(failed)} failed`)
    return parts.join(' · ')
  }

  #images(): string {
    const { stats } = this.#live
    const parts = [`${formatCount(stats.get('images/downloaded'))} downloaded`]
    const add = (count: number, name: string) => count > 0 && parts.push(`${formatCount(count)} ${name}`)
    add(stats.get('images/duplicate'), 'duplicate')
    add(stats.get('images/dropped'), 'dropped')
    add(stats.get('images/failed'), 'failed')
    return parts.join(' · ')
  }
}

/** Hosts that are paused, the longest pause first, then those that have been slowed. */
function slowest(slots: readonly SlotState[], max = 3): SlotState[] {
  return slots
    .filter(({ pausedUntil, reason }) => pausedUntil > 0 || reason !== '')
    .sort((a, b) => b.pausedUntil - a.pausedUntil || b.delayMs - a.delayMs)
    .slice(0, max)
}

function describeSlot({ slot, pausedUntil, delayMs, reason }: SlotState): string {
  const why = reason === '' ? '' : ` (${cleanText(reason, 40)})`
  const how = pausedUntil > 0 ? `waits until ${formatClock(pausedUntil)}` : `one request in ${formatDuration(delayMs)}`
  return `${cleanText(slot, 40)} ${how}${why}`
}
