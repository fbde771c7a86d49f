import type { CrawlReport } from './crawl.ts'
import type { Measurement } from './meter.ts'
import type { Options } from './options.ts'
import { scenarioTitles, type Contender, type ScenarioName } from './scenarios.ts'
import type { SiteReport } from './site.ts'
import { formatMegabytes, formatNumber, formatTable, median } from './table.ts'

/** All runs of one contender in one scenario. */
export interface ScenarioResult {
  readonly scenario: ScenarioName
  readonly contender: Contender
  readonly measurements: readonly Measurement[]
  /** Medians of the measurements; null when there are none. */
  readonly cpuMsPerItem: number | null
  readonly itemsPerSecond: number | null
  readonly peakRssBytes: number | null
  /** Why the contender could not run, or null. */
  readonly unavailable: string | null
}

export function summarize(scenario: ScenarioName, contender: Contender, reports: readonly CrawlReport[]): ScenarioResult {
  const measurements = reports.flatMap((report) => ('measurement' in report ? [report.measurement] : []))
  const unavailable = reports.find((report) => 'unavailable' in report)?.unavailable ?? null
  const middle = (figure: 'cpuMsPerItem' | 'itemsPerSecond' | 'peakRssBytes'): number | null =>
    measurements.length === 0 ? null : median(measurements.map((measurement) => measurement[figure]))
  return {
    scenario,
    contender,
    measurements,
    cpuMsPerItem: middle('cpuMsPerItem'),
    itemsPerSecond: middle('itemsPerSecond'),
    peakRssBytes: middle('peakRssBytes'),
    unavailable,
  }
}

/** One scenario as a table: a row a contender, then the ratio, then what went wrong. */
export function formatScenario(
  scenario: ScenarioName,
  options: Options,
  site: SiteReport,
  results: readonly ScenarioResult[],
): string {
  const bare = results.find((result) => result.scenario === scenario && result.contender === 'bare')
  const product = results.find((result) => result.scenario === scenario && result.contender === 'product')
  const rows = [['', 'items', 'CPU ms/item', 'items/s', 'peak RSS MB']]
  const notes: string[] = []
  for (const result of [bare, product]) {
    if (result === undefined) continue
    const { contender, measurements, cpuMsPerItem, itemsPerSecond, peakRssBytes, unavailable } = result
    if (unavailable !== null) notes.push(`${contender}: not available (${unavailable})`)
    for (const { counted, expected } of measurements) {
      if (counted === expected) continue
      notes.push(`${contender}: ${formatNumber(counted)} of ${formatNumber(expected)} items: not the same work`)
    }
    if (cpuMsPerItem === null || itemsPerSecond === null || peakRssBytes === null) continue
    const items = formatNumber(median(measurements.map(({ counted }) => counted)))
    rows.push([contender, items, formatNumber(cpuMsPerItem, 3), formatNumber(itemsPerSecond), formatMegabytes(peakRssBytes)])
  }
  if (bare !== undefined && product !== undefined) {
    const figures = ['cpuMsPerItem', 'itemsPerSecond', 'peakRssBytes'] as const
    const ratios = figures.map((figure) => divide(product[figure], bare[figure]))
    if (ratios.every((ratio) => ratio !== null)) {
      rows.push(['product / bare', '', ...ratios.map((ratio) => formatNumber(ratio, 2))])
    }
  }
  const title = `${scenario}: ${describeItems(scenario, options, site)}`
  return [title, scenarioTitles[scenario], '', formatTable(rows), ...notes, ''].join('\n')
}

function describeItems(scenario: ScenarioName, { pages, images, concurrency, repeat }: Options, site: SiteReport): string {
  const items =
    scenario === 'images'
      ? `${formatNumber(images)} images of ${formatNumber(site.meanImageBytes / 1_000)} kB`
      : `${formatNumber(pages)} pages of ${formatNumber(site.meanPageBytes / 1_000)} kB`
  return `${items}, ${concurrency} at once, ${repeat === 1 ? 'one run' : `medians of ${repeat} runs`}`
}

function divide(dividend: number | null, divisor: number | null): number | null {
  return dividend === null || divisor === null ? null : dividend / divisor
}
