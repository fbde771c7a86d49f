import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Measurement } from './meter.ts'
import { formatNumber, formatTable } from './table.ts'

/** The part of V8's .cpuprofile that is read here. */
interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { readonly functionName: string; readonly url: string } }[]
  /** On the monotonic clock, in microseconds, as are the deltas: from the sample before, the first from here. */
  readonly startTime: number
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** Options for Node that write a profile of the main thread into `folder` when the process ends. */
export const profileOptions = (folder: string): string[] => ['--cpu-prof', `--cpu-prof-dir=${folder}`]

const rowsPerTable = 20
/** What V8 calls the time in which no JavaScript runs. */
const idle = new Set(['(idle)', '(program)', '(root)'])

/**
 * Reads the profile that a process left in `folder` and answers three tables of self time, by function, by file and by package,
 * of what was sampled after the warm-up.
 */
export async function summarizeProfile(folder: string, { measured, measuredFromUs }: Measurement): Promise<string> {
  // The loader's thread writes one of its own; the main thread is number 0: CPU.<date>.<time>.<pid>.<thread>.<n>.cpuprofile
  const file = (await readdir(folder)).find((name) => name.split('.').at(-3) === '0')
  if (file === undefined) throw new Error(`no profile of the main thread in ${folder}`)
  const profile = JSON.parse(await readFile(join(folder, file), 'utf8')) as CpuProfile
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const byFunction = new Map<string, number>()
  const byFile = new Map<string, number>()
  const byPackage = new Map<string, number>()
  let sampledAtUs = profile.startTime
  profile.samples.forEach((id, index) => {
    const frame = frames.get(id)
    const us = profile.timeDeltas[index] ?? 0
    const ms = us / 1_000
    sampledAtUs += us
    if (sampledAtUs < measuredFromUs || frame === undefined || idle.has(frame.functionName)) return
    const place = shortenUrl(frame.url)
    add(byFunction, `${frame.functionName || '(anonymous)'}  ${place}`, ms)
    add(byFile, place, ms)
    add(byPackage, packageOf(place), ms)
  })
  const total = [...byFile.values()].reduce((sum, ms) => sum + ms, 0)
  return [
    `${formatNumber(total)} ms of work on the main thread after the warm-up; ${formatNumber(total / measured, 3)} ms an item`,
    formatShares('function', byFunction, total, measured),
    formatShares('file', byFile, total, measured),
    formatShares('package', byPackage, total, measured),
  ].join('\n\n')
}

function formatShares(title: string, times: ReadonlyMap<string, number>, total: number, items: number): string {
  const rows = [...times].sort(([, a], [, b]) => b - a).slice(0, rowsPerTable)
  return formatTable([
    [title, 'ms', '%', 'us/item'],
    ...rows.map(([name, ms]) => {
      const share = formatNumber((ms / total) * 100, 1)
      return [name, formatNumber(ms), share, formatNumber((ms / items) * 1_000, 1)]
    }),
  ])
}

function add(times: Map<string, number>, name: string, ms: number): void {
  times.set(name, (times.get(name) ?? 0) + ms)
}

/** From the repository, or from the package inside node_modules. */
function shortenUrl(url: string): string {
  if (!url.startsWith('file:')) return url || '(native)'
  const path = relative(fileURLToPath(new URL('..', import.meta.url)), fileURLToPath(url))
  return path.split('node_modules/').at(-1) ?? path
}

function packageOf(place: string): string {
  if (place.startsWith('node:') || place.startsWith('(')) return place.split('/')[0] ?? place
  const [first = place, second = ''] = place.split('/')
  return first.startsWith('@') || first === 'framework' ? `${first}/${second}` : first
}
