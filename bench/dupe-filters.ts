/** `npm run bench:dupe-filters`: memory, speed, pauses and losses of each kind of dupe filter, beside what is promised. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runChild } from './child.ts'
import { dupeFilterCases, dupeFilterPromises, type DupeFilterCase, type DupeFilterPromise } from './dupe-filter-cases.ts'
import type { KindInput, KindReport } from './dupe-filter-kind.ts'
import { parseCount } from './options.ts'
import { withScratch } from './scratch.ts'
import { formatNumber, formatTable } from './table.ts'

const names = Object.keys(dupeFilterCases) as DupeFilterCase[]

const usage = `npm run bench:dupe-filters -- [options]

  --entries N   URLs added (1,000,000)
  --full        1,000,000 and 20,000,000: more than a Set can hold. Half an hour, most of it for the kind disk
  --only TEXT   kinds whose name has TEXT in it: ${names.join('; ')}
  --json        one JSON document instead of a table
`

interface Options {
  readonly sizes: readonly number[]
  readonly only: string
  readonly json: boolean
}

interface Line {
  readonly name: DupeFilterCase
  readonly report: KindReport
}

const chosen = readOptions()
if (chosen !== undefined) await withScratch((folder, signal) => bench(chosen, folder, signal))

function readOptions(): Options | undefined {
  try {
    const { values } = parseArgs({
      options: {
        entries: { type: 'string' },
        full: { type: 'boolean', default: false },
        only: { type: 'string', default: '' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    const { only, json, full } = values
    if (!names.some((name) => name.includes(only))) throw new Error(`--only: no kind has "${only}" in its name`)
    const entries = parseCount('--entries', values.entries, 1_000_000)
    if (!values.help) return { sizes: full ? [1_000_000, 20_000_000] : [entries], only, json }
    console.log(usage)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 2
  }
  return undefined
}

async function bench({ sizes, only, json }: Options, folder: string, signal: AbortSignal): Promise<void> {
  for (const entries of sizes) {
    const lines: Line[] = []
    for (const name of names.filter((name) => name.includes(only))) {
      console.error(`${name}, ${formatNumber(entries)} URLs`)
      const own = join(folder, `${name.replaceAll(/\W/g, '-')}-${entries}`)
      await mkdir(own)
      const report = await runChild<KindReport>('dupe-filter-kind.ts', { name, entries, folder: own } satisfies KindInput, signal)
      lines.push({ name, report })
    }
    if (json) console.log(JSON.stringify({ entries, node: process.version, lines }, null, 2))
    else console.log(`${formatNumber(entries)} URLs\n\n${formatLines(lines)}\n`)
    const broken = lines.flatMap(({ name, report }) => brokenPromises(name, report))
    for (const text of broken) console.error(text)
    if (broken.length > 0) process.exitCode = 1
  }
}

function formatLines(lines: readonly Line[]): string {
  const rows = lines.map(({ name, report }) => {
    const promise = dupeFilterPromises[name]
    return [
      name,
      formatNumber(report.bytesPerUrlWhenFull, 1),
      formatNumber(report.bytesPerUrl, 1),
      formatPromise('<=', promise.bytesPerUrl, formatNumber),
      formatNumber(report.addsPerSecond),
      formatNumber(report.knownPerSecond),
      formatNumber(report.unknownPerSecond),
      formatPromise('>=', promise.lookupsPerSecond, formatNumber),
      formatNumber(report.longestAddMs, 1),
      formatPromise('<=', promise.longestAddMs, formatNumber),
      formatShare(report.lostShare),
      formatPromise('<=', promise.lostShare, formatShare),
      formatShare(report.falseShare),
      formatPromise('<=', promise.falseShare, formatShare),
    ]
  })
  const promise = 'promise'
  const head = ['', 'B/URL when full', 'at most', promise, 'adds/s', 'known/s', 'unknown/s', promise, 'longest add ms', promise]
  return formatTable([[...head, 'lost %', promise, 'false when full %', promise], ...rows])
}

function formatPromise(sign: string, limit: number | undefined, format: (value: number) => string): string {
  return limit === undefined ? '' : `${sign} ${format(limit)}`
}

function formatShare(share: number): string {
  return formatNumber(share * 100, 3)
}

function brokenPromises(name: DupeFilterCase, report: KindReport): string[] {
  const { lookupsPerSecond = 0, ...limits } = dupeFilterPromises[name]
  const texts: string[] = []
  for (const [what, limit] of Object.entries(limits) as [keyof typeof limits & keyof DupeFilterPromise, number][]) {
    if (report[what] > limit) texts.push(`${name}: ${what} is ${report[what]}, more than ${limit}`)
  }
  for (const what of ['knownPerSecond', 'unknownPerSecond'] as const) {
    const numbers = `${formatNumber(report[what])}, less than ${formatNumber(lookupsPerSecond)}`
    if (report[what] < lookupsPerSecond) texts.push(`${name}: ${what} is ${numbers}`)
  }
  return texts
}
