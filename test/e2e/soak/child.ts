/** A crawl in a process of its own, run with `--expose-gc`: what it still holds after so many pages goes to the parent. */
import { run, Spider, type PageResponse, type Results } from 'orbweaver'
import project from '../../../settings.ts'

export interface SoakInput {
  /** With a slash at its end. */
  readonly site: string
  readonly dataDir: string
  /** Pages between two looks. */
  readonly every: number
}

/** What is held after a garbage collection. */
export interface SoakLook {
  readonly pages: number
  /** Objects of JavaScript. */
  readonly heapBytes: number
  /** Buffers and typed arrays. */
  readonly externalBytes: number
  readonly pending: number
}

const input = JSON.parse(process.argv[2] ?? '') as SoakInput

class Soak extends Spider {
  override readonly startUrls = [input.site]

  override async *parse(page: PageResponse): Results {
    for (const url of page.links()) yield page.follow(url)
  }
}

function look(pages: number, pending: number): void {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ pages, heapBytes: heapUsed, externalBytes: external, pending } satisfies SoakLook)
}

process.once('disconnect', () => process.exit(1))
process.channel?.unref()
await run({
  name: 'soak',
  spider: Soak,
  project,
  environment: {},
  settings: { dataDir: input.dataDir, concurrency: 16, slot: { delayMs: 0, concurrency: 16 }, autothrottle: { enabled: false }, network: { allowPrivate: true } },
  onOpen: ({ counts, signals }) => {
    let pages = 0
    signals.on('response_received', () => void (++pages % input.every === 0 && look(pages, counts().pending)))
  },
})
