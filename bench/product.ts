import { run, Spider, type PageResponse, type Pipeline, type Project, type Results } from 'orbweaver'
import { downloaderMiddlewares, spiderMiddlewares } from 'orbweaver/middlewares'
import { pipelines } from 'orbweaver/pipelines'
import type { Meter } from './meter.ts'
import type { Job } from './scenarios.ts'

/** The product as its users have it, without politeness delays and without what a shell sets. */
export function benchProject({ concurrency, folder }: Pick<Job, 'concurrency' | 'folder'>): Project {
  return {
    downloaderMiddlewares,
    spiderMiddlewares,
    pipelines,
    concurrency,
    slot: { concurrency, delayMs: 0 },
    autothrottle: { enabled: false },
    network: { allowPrivate: true },
    dataDir: folder,
  }
}

/** The same work as the bare loops, by the product as its users have it: all default parts, no politeness delays. */
export async function crawlByProduct({ scenario, origin, concurrency, folder }: Job, meter: Meter): Promise<void> {
  class Pages extends Spider {
    override readonly startUrls = [`${origin}/`]
    imagesSeen = 0

    override async *parse(page: PageResponse): Results {
      for (const url of scenario === 'pages/cheerio' ? this.#query(page) : page.links()) yield page.follow(url, this.parse)
      this.imagesSeen += scenario === 'pages/cheerio' ? page.$('img').length : page.images().length
      meter.count()
    }

    #query({ $ }: PageResponse): string[] {
      return Array.from($('a[href]'), (element) => $(element).attr('href')).filter((href) => href !== undefined)
    }
  }

  class Images extends Spider {
    override readonly startUrls = [`${origin}/images.html`]

    override async *parse(page: PageResponse): Results {
      yield* page.images()
    }
  }

  const countStored: Pipeline = () => async (item, next) => {
    const stored = await next(item)
    meter.count()
    return stored
  }

  const { reason } = await run({
    name: 'bench',
    spider: scenario === 'images' ? Images : Pages,
    project: { ...benchProject({ concurrency, folder }), pipelines: [countStored, ...pipelines] },
    // Variables of the shell don't change what is measured.
    environment: {},
  })
  if (reason !== 'finished') throw new Error(`the crawl ended early: ${reason}`)
}
