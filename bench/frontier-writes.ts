/** `npm run bench:frontier`: what a row of the frontier costs by MikroORM and by statements of its driver, libsql. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runChild } from './child.ts'
import type { WriterInput, WriterReport } from './frontier-writer.ts'
import { parseCount } from './options.ts'
import { writers, type Writer } from './queue-rows.ts'
import { withScratch } from './scratch.ts'
import { formatMegabytes, formatNumber, formatTable, median } from './table.ts'

const usage = `npm run bench:frontier -- [options]

  --rows N      requests added, then leased and settled (100,000)
  --only TEXT   writers whose name has TEXT in it: ${writers.join(', ')}
  --repeat N    runs of each writer, interleaved; medians are shown (1)
  --json        one JSON document instead of a table
`

interface Options {
  readonly rows: number
  readonly repeat: number
  readonly only: string
  readonly json: boolean
}

/** A writer with a size of batch, and its reports. */
interface Line {
  readonly writer: Writer
  readonly rowsPerBatch: number
  readonly reports: WriterReport[]
}

const chosen = readOptions()
if (chosen !== undefined) await withScratch((folder, signal) => bench(chosen, folder, signal))

function readOptions(): Options | undefined {
  try {
    const { values } = parseArgs({
      options: {
        rows: { type: 'string' },
        repeat: { type: 'string' },
        only: { type: 'string', default: '' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    const { only, json } = values
    if (!writers.some((writer) => writer.includes(only))) throw new Error(`--only: no writer has "${only}" in its name`)
    const rows = parseCount('--rows', values.rows, 100_000)
    const repeat = parseCount('--repeat', values.repeat, 1)
    if (!values.help) return { rows, repeat, only, json }
    console.log(usage)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 2
  }
  return undefined
}

async function bench({ rows, repeat, only, json }: Options, folder: string, signal: AbortSignal): Promise<void> {
  const lines = writers.filter((writer) => writer.includes(only)).flatMap(makeLines)
  for (let round = 1; round <= repeat; round += 1) {
    for (const { writer, rowsPerBatch, reports } of lines) {
      console.error(`${writer}, ${rowsPerBatch} a batch, run ${round} of ${repeat}`)
      const own = join(folder, `${writer.replaceAll(/\W/g, '-')}-${rowsPerBatch}-${round}`)
      await mkdir(own)
      const input: WriterInput = { writer, rows, rowsPerBatch, folder: own }
      reports.push(await runChild<WriterReport>('frontier-writer.ts', input, signal))
    }
  }
  if (json) return console.log(JSON.stringify({ rows, repeat, node: process.version, lines }, null, 2))
  const runs = repeat === 1 ? 'one run' : `medians of ${repeat} runs`
  console.log(`${formatNumber(rows)} requests, ${runs}\n\n${formatLines(lines)}`)
}

/** SQLite refuses 1,000 rows in one insert of the query builder, so MikroORM is measured with 500 only. */
function makeLines(writer: Writer): Line[] {
  return (writer.startsWith('libsql') ? [500, 1_000] : [500]).map((rowsPerBatch) => ({ writer, rowsPerBatch, reports: [] }))
}

function formatLines(lines: readonly Line[]): string {
  const costs = ['add rows/s', 'CPU us/row', 'lease+settle rows/s', 'CPU us/row']
  const memory = ['RSS MB: 1/5 added', 'all added', 'all settled', 'peak']
  const rows = lines.map(({ writer, rowsPerBatch, reports }) => {
    const middle = (read: (report: WriterReport) => number | undefined): number =>
      median(reports.map((report) => read(report) ?? Number.NaN))
    return [
      writer,
      formatNumber(rowsPerBatch),
      formatNumber(middle(({ add }) => add.rowsPerSecond)),
      formatNumber(middle(({ add }) => add.cpuUsPerRow), 1),
      formatNumber(middle(({ leaseAndSettle }) => leaseAndSettle.rowsPerSecond)),
      formatNumber(middle(({ leaseAndSettle }) => leaseAndSettle.cpuUsPerRow), 1),
      formatMegabytes(middle(({ add }) => add.rssBytes[0])),
      formatMegabytes(middle(({ add }) => add.rssBytes.at(-1))),
      formatMegabytes(middle(({ leaseAndSettle }) => leaseAndSettle.rssBytes.at(-1))),
      formatMegabytes(middle((report) => report.peakRssBytes)),
    ]
  })
  return formatTable([['', 'batch', ...costs, ...memory], ...rows])
}
