/** A process of the soak: the product, which notes its memory as it goes. */
import { run, Spider, type PageResponse, type Results } from 'orbweaver'
import { receiveInput, sendReport } from './child.ts'
import { peakRssBytes } from './meter.ts'
import { benchProject } from './product.ts'
import { formatSample, type SoakSample } from './soak-report.ts'

export interface SoakJob {
  /** Where the site listens, for example `http://127.0.0.1:40123`. */
  readonly origin: string
  readonly pages: number
  readonly concurrency: number
  /** An empty folder of this process's own. */
  readonly folder: string
}

export interface SoakReport {
  readonly samples: readonly SoakSample[]
  /** Pages that were read, each once. */
  readonly done: number
  readonly peakRssBytes: number
}

/** Samples of a run: one each 2 % of the pages. */
const sampleCount = 50

const { origin, pages, concurrency, folder } = receiveInput<SoakJob>()

class Soak extends Spider {
  override readonly startUrls = [`${origin}/`]

  override async *parse(page: PageResponse): Results {
    for (const url of page.links()) yield page.follow(url)
  }
}

const samples: SoakSample[] = []
const startedAt = performance.now()
let read = 0
let queued = (): number => 0

function countPage(): void {
  read += 1
  if (read % Math.ceil(pages / sampleCount) !== 0 && read !== pages) return
  const { rss, heapUsed, external } = process.memoryUsage()
  const sample: SoakSample = { pages: read, atMs: performance.now() - startedAt, rssBytes: rss, heapBytes: heapUsed, externalBytes: external, queued: queued() }
  console.error(formatSample(sample, samples.at(-1), pages))
  samples.push(sample)
}

const { reason, outcomes } = await run({
  name: 'soak',
  spider: Soak,
  project: benchProject({ concurrency, folder }),
  environment: {},
  onOpen: ({ counts, signals }) => {
    queued = () => counts().pending
    signals.on('response_received', countPage)
  },
})
if (reason !== 'finished') throw new Error(`the crawl ended early: ${reason}`)
const done = outcomes.find(({ kind, state }) => kind === 'page' && state === 'done')?.count ?? 0
await sendReport({ samples, done, peakRssBytes: peakRssBytes() } satisfies SoakReport)
process.exit()
