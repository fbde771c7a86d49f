/** A process of the frontier's bench: fills a frontier, leases, opens it again, and reports. */
import { statSync } from 'node:fs'
import { EmbeddedFrontier } from '../framework/frontier/embedded.ts'
import { Fingerprinter } from '../framework/engine/fingerprinter.ts'
import { Request } from '../framework/http/request.ts'
import { silentLog } from '../framework/log.ts'
import { loadSettings } from '../framework/settings/load.ts'
import { Slots } from '../framework/slots/slots.ts'
import type { NewRequest } from '../framework/frontier/frontier.ts'
import { receiveInput, sendReport, runChild } from './child.ts'

export interface FrontierInput {
  readonly path: string
  readonly requests: number
  readonly hosts: number
  readonly kind: 'memory' | 'disk' | 'bloom' | 'lossy-hyperloglog'
  /** Only opens what there is. */
  readonly reopen?: boolean
}

/** Of one kind of operation. */
export interface Rate {
  readonly perSecond: number
  /** User and system time of the process, microseconds each. */
  readonly cpuUs: number
}

export interface FrontierReport {
  readonly added: Rate
  readonly known: Rate
  readonly lookedUp: Rate
  readonly settled: Rate
  readonly settledWithChildren: Rate
  readonly reopenMs: number
  readonly rssBytes: number
  readonly bareRssBytes: number
  readonly fileBytes: number
}

/** Links of a page, and pages that add theirs at once. */
const batch = 100
const pages = 8
const workers = 256
const leased = 100_000
const asked = 200_000

const input = receiveInput<FrontierInput>()
await sendReport(input.reopen === true ? await reopen(input) : await load(input))
process.exit()

function open({ path, kind, requests }: FrontierInput): EmbeddedFrontier {
  const { settings } = loadSettings({ program: { dupeFilter: { kind, capacity: requests }, slot: { delayMs: 0, concurrency: 32 } } })
  return new EmbeddedFrontier({
    path, fresh: false, slots: new Slots(settings), dupeFilter: settings.dupeFilter, order: 'breadth', synchronous: 'normal',
    identity: {}, priorityOf: ({ priority }) => priority, log: silentLog, signal: new AbortController().signal, outageMs: 0,
  })
}

async function load(job: FrontierInput): Promise<FrontierReport> {
  const frontier = open(job)
  const { seed, bits } = frontier.job
  const fingerprinter = new Fingerprinter({ headers: [], seed, bits })
  const urlOf = (n: number): string => `https://www.site-${n % job.hosts}.example/gallery/albums/${Math.floor(n / job.hosts)}/a-picture-page-with-a-name?id=${n}`
  const newRequest = (n: number): NewRequest => {
    const request = new Request(urlOf(n))
    return { request, fingerprint: fingerprinter.ofRequest(request) }
  }
  const added = await timed(job.requests, async () => {
    let next = 0
    await Promise.all(Array.from({ length: pages }, async () => {
      for (let n = next; n < job.requests; n = next) {
        next += batch
        await frontier.add(range(n, Math.min(n + batch, job.requests)).map(newRequest))
      }
    }))
  })
  const numbers = range(0, Math.min(asked, job.requests))
  const requests = numbers.map((n) => new Request(urlOf(n)))
  const fingerprints = requests.map((request) => fingerprinter.ofRequest(request))
  const known = await timed(numbers.length, () => {
    for (const request of requests) if (!frontier.has(fingerprinter.ofRequest(request), request.url)) throw new Error('lost')
  })
  const lookedUp = await timed(numbers.length, () => {
    for (const [index, fingerprint] of fingerprints.entries()) if (!frontier.has(fingerprint, (requests[index] as Request).url)) throw new Error('lost')
  })
  const count = Math.min(leased, Math.floor(job.requests / 3))
  const settled = await timed(count, () => work(frontier, count, () => []))
  const children = range(0, 20).map(newRequest)
  const settledWithChildren = await timed(count, () => work(frontier, count, () => children))
  await frontier.close()
  const controller = new AbortController()
  const again = await runChild<Pick<FrontierReport, 'reopenMs' | 'rssBytes' | 'bareRssBytes'>>('frontier-load.ts', { ...job, reopen: true }, controller.signal)
  const fileBytes = ['', '-wal'].reduce((sum, suffix) => sum + (statSync(job.path + suffix, { throwIfNoEntry: false })?.size ?? 0), 0)
  return { added, known, lookedUp, settled, settledWithChildren, fileBytes, ...again }
}

/** Many workers, each of which leases one request after the other: each settlement waits for its commit. */
async function work(frontier: EmbeddedFrontier, count: number, childrenOf: () => readonly NewRequest[]): Promise<void> {
  let left = count
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left--
      const { leases } = await frontier.lease(1)
      for (const lease of leases) {
        lease.visit.end()
        await frontier.settle([{ lease, outcome: { state: 'done' }, children: childrenOf() }])
      }
    }
  }
  await Promise.all(Array.from({ length: workers }, worker))
}

async function reopen(job: FrontierInput): Promise<Pick<FrontierReport, 'reopenMs' | 'rssBytes' | 'bareRssBytes'>> {
  const bareRssBytes = process.memoryUsage.rss()
  const start = performance.now()
  const frontier = open(job)
  const reopenMs = performance.now() - start
  await work(frontier, 1_000, () => [])
  const rssBytes = process.memoryUsage.rss()
  await frontier.close()
  return { reopenMs, rssBytes, bareRssBytes }
}

async function timed(count: number, body: () => void | Promise<void>): Promise<Rate> {
  const start = performance.now()
  const cpu = process.cpuUsage()
  await body()
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: (count / (performance.now() - start)) * 1_000, cpuUs: (user + system) / count }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index)
}
