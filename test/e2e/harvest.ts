import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'libsql'
import type { RunSummary, SettingsInput } from 'orbweaver'
import type { DemoExpectation, ExpectedImage } from '../../framework/demo/expectation.ts'
import { canonicalizeUrl } from '../../framework/http/url.ts'

/** A row of the table `image`. */
export interface ImageRow {
  readonly id: number
  readonly url: string
  readonly status: string
  readonly reason: string | null
  readonly path: string | null
  readonly sha256: string | null
  readonly width: number | null
  readonly height: number | null
  readonly d_hash: string | null
  readonly alt_text: string | null
  readonly source_site: string
  readonly duplicate_of: number | null
  readonly distance: number | null
  readonly review_of: number | null
}

/** What a crawl of the demo site needs to be allowed and quick. */
export const demoSettings: SettingsInput = {
  network: { allowPrivate: true },
  slot: { delayMs: 0, concurrency: 8 },
  autothrottle: { enabled: false },
  retry: { backoffMs: 100 },
}

export function readRows(dataDir: string): ImageRow[] {
  const database = new Database(join(dataDir, 'crawl.db'), { readonly: true })
  try {
    return database.prepare('select * from image').all() as ImageRow[]
  } finally {
    database.close()
  }
}

/** Every file below the folder of images, by its path. */
export function readFiles(dataDir: string): string[] {
  return readdirSync(join(dataDir, 'images'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(dataDir, 'images').length + 1))
    .sort()
}

/** Each row that is kept has its file with its bytes, and there is no other file. */
export function checkFiles(dataDir: string, rows: readonly ImageRow[]): void {
  const kept = rows.filter(({ status }) => status === 'downloaded')
  assert.deepEqual(readFiles(dataDir), kept.map(({ path }) => path ?? '').sort())
  for (const { path, sha256 } of kept) {
    const bytes = readFileSync(join(dataDir, 'images', path ?? ''))
    assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256, `${path} holds other bytes than its row says`)
  }
  assert.deepEqual(rows.filter(({ status, path }) => status !== 'downloaded' && path !== null), [])
}

/** Every image has the end that the site is known to give it, and each group of one picture has exactly one original. */
export function checkRows(rows: readonly ImageRow[], expected: DemoExpectation): void {
  const byUrl = new Map(rows.map((row) => [canonicalizeUrl(row.url), row]))
  assert.equal(byUrl.size, rows.length, 'two rows of one URL')
  for (const image of expected.images) {
    const row = byUrl.get(image.url)
    if (row === undefined) assert.ok(image.optional, `${image.url} was not found`)
    else checkRow(row, image)
  }
  const urls = new Set(expected.images.map(({ url }) => url))
  assert.deepEqual([...byUrl.keys()].filter((url) => !urls.has(url)), [])
  for (const group of expected.groups) {
    const members = group.members.map((url) => byUrl.get(url)).filter((row) => row !== undefined)
    const [original, ...others] = members.filter(({ status }) => status === 'downloaded')
    assert.ok(original !== undefined && others.length === 0, `${group.id} has ${1 + others.length} originals`)
    assert.ok(group.originals.includes(canonicalizeUrl(original.url)), `${original.url} is not the one to keep`)
    for (const member of members) if (member !== original) assert.equal(member.duplicate_of, original.id, `${member.url} points to another original`)
  }
  for (const [a, b] of expected.reviews) {
    const pair = [byUrl.get(a), byUrl.get(b)]
    assert.ok(pair.some((row, index) => row?.review_of === pair[1 - index]?.id), `${a} and ${b} are not marked for review`)
  }
}

function checkRow(row: ImageRow, image: ExpectedImage): void {
  assert.ok((image.statuses as readonly string[]).includes(row.status), `${row.url} is ${row.status} (${row.reason}), not ${image.statuses.join(' or ')}`)
  assert.equal(row.alt_text ?? '', image.alt)
  if (row.status === 'dropped' || row.status === 'failed') assert.equal(row.reason, image.reason, row.url)
}

/** The figures of a report. */
export function figuresOf(summary: RunSummary): { pages: number; images: Record<string, number>; exact: number } {
  const images: Record<string, number> = {}
  for (const { status, count } of summary.images) images[status] = (images[status] ?? 0) + count
  const pages = summary.outcomes.find(({ kind, state }) => kind === 'page' && state === 'done')?.count ?? 0
  const exact = summary.images.find(({ status, reason }) => status === 'duplicate' && reason === 'exact')?.count ?? 0
  return { pages, images, exact }
}
