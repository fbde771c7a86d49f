import type { SoakReport } from './soak-crawl.ts'
import { formatMegabytes, formatNumber, formatTable } from './table.ts'

/** A crawling process at one moment. */
export interface SoakSample {
  /** Pages read so far. */
  readonly pages: number
  /** ms since the crawl began. */
  readonly atMs: number
  readonly rssBytes: number
  readonly heapBytes: number
  /** Outside of V8's heap: buffers and typed arrays, the dupe filter among them. */
  readonly externalBytes: number
  /** Requests that are pending. */
  readonly queued: number
}

/** What the exact dupe filter promises at most for a known URL (docs/architecture.md, what bounds what). */
const bytesPerKnownUrl = 20
/** Between two full collections of V8 RSS rises by about so much and falls again, whatever is crawled. */
const noiseBytes = 96 * 2 ** 20
const warmUp = 0.1
const barWidth = 40

/** One line while the crawl goes on. */
export function formatSample(sample: SoakSample, previous: SoakSample | undefined, pages: number): string {
  const share = `${Math.round((sample.pages / pages) * 100)} %`.padStart(5)
  return `${share}  ${formatNumber(sample.pages)} pages, ${formatNumber(rate(sample, previous))} pages/s, RSS ${formatMegabytes(sample.rssBytes)} MB, ${formatNumber(sample.queued)} queued`
}

/** The curve as a table with a bar of the RSS on each line. */
export function formatCurve({ samples }: SoakReport): string {
  const most = Math.max(...samples.map(({ rssBytes }) => rssBytes))
  const rows = samples.map((sample, index) => [
    formatNumber(sample.pages),
    formatNumber(rate(sample, samples[index - 1])),
    formatMegabytes(sample.rssBytes),
    formatMegabytes(sample.heapBytes),
    formatMegabytes(sample.externalBytes),
    formatNumber(sample.queued),
    '█'.repeat(Math.round((sample.rssBytes / most) * barWidth)).padEnd(barWidth),
  ])
  return formatTable([['pages', 'pages/s', 'RSS MB', 'heap MB', 'external MB', 'queued', 'RSS'.padEnd(barWidth)], ...rows])
}

export interface SoakVerdict {
  readonly text: string
  readonly isBounded: boolean
}

/** Compares how RSS grew after the first tenth of the pages with what the URLs that became known then may take. */
export function judge({ samples, done, peakRssBytes }: SoakReport, pages: number): SoakVerdict {
  const measured = samples.filter((sample) => sample.pages >= pages * warmUp)
  const [first] = measured
  const last = measured.at(-1)
  if (first === undefined || last === undefined || first === last) return { text: 'too few pages to tell', isBounded: false }
  const read = last.pages - first.pages
  const grown = fitSlope(measured) * read
  // Every page that was found is either read or pending.
  const known = last.pages + last.queued - first.pages - first.queued
  const promised = known * bytesPerKnownUrl
  const isBounded = grown <= promised + noiseBytes && done === pages
  const lines = [
    `${formatNumber(done)} of ${formatNumber(pages)} pages in ${formatNumber(last.atMs / 1_000)} s, ${formatNumber((last.pages / last.atMs) * 1_000)} pages/s, peak RSS ${formatMegabytes(peakRssBytes)} MB`,
    `after the first ${warmUp * 100} %: RSS grew by ${formatMegabytes(grown)} MB (straight line through all samples), ${formatNumber(grown / read)} bytes a page`,
    `the dupe filter promises ${bytesPerKnownUrl} bytes for each of ${formatNumber(known)} URLs that became known: ${formatMegabytes(promised)} MB, ${formatNumber(promised / read)} bytes a page`,
    isBounded
      ? `verdict: bounded; within what is promised and the ${formatMegabytes(noiseBytes)} MB by which RSS moves anyway`
      : done === pages
        ? `verdict: RSS GROWS by more than what is promised and the ${formatMegabytes(noiseBytes)} MB by which it moves anyway`
        : 'verdict: NOT THE SAME WORK; each page has to be read once',
  ]
  return { text: lines.join('\n'), isBounded }
}

function rate(sample: SoakSample, previous: SoakSample | undefined): number {
  return ((sample.pages - (previous?.pages ?? 0)) / (sample.atMs - (previous?.atMs ?? 0))) * 1_000
}

/** Bytes of RSS a page, by least squares. */
function fitSlope(samples: readonly SoakSample[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const meanPages = mean(samples.map(({ pages }) => pages))
  const meanRss = mean(samples.map(({ rssBytes }) => rssBytes))
  const covariance = samples.reduce((sum, { pages, rssBytes }) => sum + (pages - meanPages) * (rssBytes - meanRss), 0)
  return covariance / samples.reduce((sum, { pages }) => sum + (pages - meanPages) ** 2, 0)
}
