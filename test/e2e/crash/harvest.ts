import assert from 'node:assert/strict'
import type { OutcomeCount } from 'orbweaver'
import { crawl } from '../../cli/command.ts'
import { checkFiles, readRows, type ImageRow } from '../harvest.ts'
import { pictureAt, type CrashSite } from './site.ts'

/** What a crawl has come to, in words that don't depend on the order in which it went, nor on the site's port. */
export interface Harvest {
  /** `picture: status`, one for each row, with the reason where only one address shows the picture. */
  readonly images: readonly string[]
  /** `kind state reason: count` of how requests ended, without those that were tried again. */
  readonly outcomes: readonly string[]
}

interface Status {
  readonly frontier?: { readonly endedAt?: number; readonly pending: number; readonly delayed: number; readonly outcomes: readonly OutcomeCount[] }
}

/** Asks the command whether the run of `plain` has ended, and how its requests ended so far. */
export async function readStatus(root: string): Promise<{ readonly hasEnded: boolean; readonly left: number; readonly outcomes: readonly OutcomeCount[] }> {
  const { code, stdout, stderr } = await crawl(['status', 'plain', '--json'], root)
  assert.equal(code, 0, stderr)
  const [status] = JSON.parse(stdout) as Status[]
  const { endedAt, pending = 0, delayed = 0, outcomes = [] } = status?.frontier ?? {}
  return { hasEnded: endedAt !== undefined, left: pending + delayed, outcomes }
}

export function pathOf({ url }: ImageRow): string {
  return new URL(url).pathname
}

/**
 * Checks a crawl that has ended: every address was asked for, each picture is kept once, each kept row has its file with
 * its bytes, and there is no other file, a temporary one included. Answers what is to be compared with another crawl of the same site.
 */
export function checkHarvest(site: CrashSite, dataDir: string, outcomes: readonly OutcomeCount[]): Harvest {
  assert.deepEqual(site.paths.filter((path) => !site.requests.has(path)), [], 'URLs were lost')
  assert.deepEqual([...site.requests.keys()].filter((path) => path.startsWith('/private/')), [], 'robots.txt forbids them')
  const rows = readRows(dataDir)
  assert.equal(new Set(rows.map(({ url }) => url)).size, rows.length, 'two rows of one URL')
  checkPictures(rows)
  checkFiles(dataDir, rows)
  return { images: describeImages(rows), outcomes: describeOutcomes(outcomes) }
}

/** Of the addresses that show one picture one is kept, and the others point to it. */
function checkPictures(rows: readonly ImageRow[]): void {
  const kept = new Map<string, ImageRow>()
  for (const row of rows) {
    if (row.status !== 'downloaded') continue
    const picture = pictureAt(pathOf(row))
    assert.equal(kept.get(picture), undefined, `${row.url} is kept twice`)
    kept.set(picture, row)
  }
  for (const row of rows) {
    assert.equal(row.alt_text, pathOf(row).replace(/^(\/fallback\/\d+)\.jpg/, '$1-large.jpg'), `${row.url} has lost its text`)
    if (row.status === 'duplicate') assert.equal(row.duplicate_of, kept.get(pictureAt(pathOf(row)))?.id, `${row.url} points to another original`)
  }
}

function describeImages(rows: readonly ImageRow[]): string[] {
  const members = new Map<string, number>()
  for (const row of rows) members.set(pictureAt(pathOf(row)), (members.get(pictureAt(pathOf(row))) ?? 0) + 1)
  return rows
    .map((row) => {
      const picture = pictureAt(pathOf(row))
      return `${picture}: ${row.status}${members.get(picture) === 1 && row.reason !== null ? `, ${row.reason}` : ''}`
    })
    .sort()
}

function describeOutcomes(outcomes: readonly OutcomeCount[]): string[] {
  return outcomes
    .filter(({ state, reason }) => state !== 'retry' && reason !== 'released')
    .map(({ kind, state, reason, count }) => `${kind} ${state} ${reason}: ${count}`)
    .sort()
}
