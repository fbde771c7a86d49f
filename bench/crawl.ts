/** A process of the bench: one contender in one scenario, measured from within. */
import { receiveInput, sendReport } from './child.ts'
import { Meter, type Measurement } from './meter.ts'
import type { Job } from './scenarios.ts'

export type CrawlReport = { readonly measurement: Measurement } | { readonly unavailable: string }

await sendReport(await measure(receiveInput<Job>()))
// A handle that a contender leaves open is not what is measured here; the profile is written on this way out too.
process.exit()

async function measure(job: Job): Promise<CrawlReport> {
  const crawl = job.contender === 'product' ? await importProduct() : await importBare(job)
  if (typeof crawl === 'string') return { unavailable: crawl }
  const meter = new Meter(job.items)
  await crawl(job, meter)
  return { measurement: meter.finish() }
}

async function importBare({ scenario }: Job) {
  if (scenario === 'images') return (await import('./bare-images.ts')).harvestImages
  return (await import('./bare-pages.ts')).crawlPages
}

/** The product's crawl, or why it can't be imported. */
async function importProduct() {
  try {
    return (await import('./product.ts')).crawlByProduct
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
