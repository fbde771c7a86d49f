/** A process of `frontier-writes.ts`: one way of writing the frontier's tables, measured from within. */
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { receiveInput, sendReport } from './child.ts'
import { peakRssBytes } from './meter.ts'
import { makeRows, type Queue, type Writer } from './queue-rows.ts'

export interface WriterInput {
  readonly writer: Writer
  readonly rows: number
  readonly rowsPerBatch: number
  readonly folder: string
}

/** What rows cost in one phase. */
export interface PhaseReport {
  readonly rowsPerSecond: number
  readonly cpuUsPerRow: number
  /** Memory after each fifth of the rows. */
  readonly rssBytes: readonly number[]
}

export interface WriterReport {
  readonly add: PhaseReport
  readonly leaseAndSettle: PhaseReport
  readonly peakRssBytes: number
}

const input = receiveInput<WriterInput>()
const queue = await openQueue(input)
const leaseMs = 60_000
// Rows of the warm-up are done before the others are added, so that a lease finds only those.
await addRows(5_000)
await leaseAndSettleRows(5_000)
const add = await measure(addRows)
const leaseAndSettle = await measure(leaseAndSettleRows)
await queue.close()
await sendReport({ add, leaseAndSettle, peakRssBytes: peakRssBytes() } satisfies WriterReport)
process.exit()

async function openQueue({ writer, folder }: WriterInput): Promise<Queue> {
  const path = join(folder, 'frontier.db')
  // The modules are loaded only by who measures them: each brings a driver that costs memory.
  if (writer.startsWith('libsql')) {
    const { openJsonQueue, openPreparedQueue } = await import('./queue-statements.ts')
    if (writer === 'libsql json_each') return openJsonQueue(path)
    return openPreparedQueue(path, { reuse: writer === 'libsql prepared once' })
  }
  const { openBuilderQueue, openConnectionQueue, openEntityQueue } = await import('./queue-orm.ts')
  if (writer === 'MikroORM insertMany') return openEntityQueue(path)
  return writer === 'MikroORM query builder' ? openBuilderQueue(path) : openConnectionQueue(path)
}

async function addRows(count: number, done: (rows: number) => void = () => {}): Promise<void> {
  for (let added = 0; added < count; added += input.rowsPerBatch) {
    await queue.add(makeRows(added, Math.min(input.rowsPerBatch, count - added)))
    done(added + input.rowsPerBatch)
    // As in a crawl, the event loop turns between two batches; native memory is given back there.
    await setImmediate()
  }
}

async function leaseAndSettleRows(count: number, done: (rows: number) => void = () => {}): Promise<void> {
  let settled = 0
  for (;;) {
    const now = Date.now()
    const leased = await queue.lease(input.rowsPerBatch, now, now + leaseMs)
    if (leased.length === 0) break
    await queue.settle(leased)
    settled += leased.length
    done(settled)
    await setImmediate()
  }
  if (settled !== count) throw new Error(`${input.writer}: settled ${settled} of ${count} rows`)
}

async function measure(phase: (count: number, done: (rows: number) => void) => Promise<void>): Promise<PhaseReport> {
  const rssBytes: number[] = []
  const startMs = performance.now()
  const startCpu = process.cpuUsage()
  await phase(input.rows, (rows) => {
    while (rssBytes.length < 5 && rows >= ((rssBytes.length + 1) * input.rows) / 5) rssBytes.push(process.memoryUsage.rss())
  })
  const { user, system } = process.cpuUsage(startCpu)
  return {
    rowsPerSecond: (input.rows / (performance.now() - startMs)) * 1_000,
    cpuUsPerRow: (user + system) / input.rows,
    rssBytes,
  }
}
