import type { SqlEntityManager } from '@mikro-orm/libsql'
import { LockMode } from '@mikro-orm/core'
import { CrawlError } from '../errors.ts'
import { createStored, type FetchedItem, type Stored } from '../item.ts'
import { transact, type Orm } from './connect.ts'
import { ImageSchema } from './entities.ts'
import type { KeptHashes } from './kept-hashes.ts'
import { storableJson, storableText } from './storable.ts'
import type { ImageStatus, Refusal } from './store.ts'

/** A refusal with its URL's key. */
export interface Refused extends Omit<Refusal, 'url'> {
  readonly urlKey: string
}

/** What an image's row becomes. */
interface Row {
  readonly id: number
  readonly urlKey: string
  readonly url: string
  readonly foundAt: Date
  readonly pageUrl: string
  readonly sourceSite: string
  path: string | null
  aHash: string | null
  dHash: string | null
  pHash: string | null
  flat: boolean | null
  sha256: string | null
  width: number | null
  height: number | null
  fileSize: number | null
  contentType: string | null
  format: string | null
  frames: number | null
  downloadedAt: Date | null
  altText: string | null
  data: object
  status: ImageStatus
  duplicateOf: number | null
  distance: number | null
  reviewOf: number | null
  reviewDistance: number | null
  reason: string | null
  message: string | null
  attempts: number
  settled: boolean
}

const keptStatuses = ['downloaded', 'duplicate'] as const

/** What tells one row from another, and what never changes: all else is written. */
const fixed = ['id', 'urlKey', 'url', 'foundAt', 'pageUrl', 'sourceSite'] as const

type Rows = ReadonlyMap<number, Row>

/** Commits items in one transaction, then brings the hashes in memory in step. What is kept already stays as it is. */
export async function saveAll(orm: Orm, hashes: KeptHashes, items: readonly FetchedItem[]): Promise<Stored[]> {
  const { stored, kept, repeated, replaced } = await transact(orm, async (em) => {
    const rows = await readRows(em, items)
    const changed = new Set<Row>()
    const kept: FetchedItem[] = []
    const repeated: FetchedItem[] = []
    const replaced: { from: number; to: number }[] = []
    const stored: Stored[] = []
    for (const item of items) {
      const row = rows.get(item.id)
      if (row === undefined) throw new CrawlError('row', `The row of ${item.url} is gone: was it deleted while the crawl was running?`, { reason: 'row is gone' })
      if (row.status === 'downloaded' || row.status === 'duplicate') {
        if (row.status === 'downloaded') repeated.push(item)
        stored.push(createStored(row.id, row.status))
        continue
      }
      const old = fill(row, item, rows)
      changed.add(row)
      if (old !== undefined) {
        changed.add(old)
        repointRead(rows, old.id, row.id)
        replaced.push({ from: old.id, to: row.id })
      }
      if (item.duplicateOf === undefined) kept.push(item)
      stored.push(createStored(row.id, item.duplicateOf === undefined ? 'downloaded' : 'duplicate'))
    }
    await writeRows(em, [...changed])
    for (const { from, to } of replaced) await repoint(em, from, to)
    return { stored, kept, repeated, replaced }
  })
  for (const { from } of replaced) hashes.delete(from)
  // A commit whose answer was lost is repeated: its rows are kept, its hashes aren't here.
  const added = [...kept, ...repeated.filter(({ id }) => !hashes.has(id))]
  for (const item of added) if (item.hashes !== undefined) hashes.add(item.id, item.hashes)
  return stored
}

/** Remembers in one transaction what wasn't kept. A row that is kept is not touched. */
export async function refuseAll(orm: Orm, refusals: readonly Refused[]): Promise<void[]> {
  await transact(orm, async (em) => {
    for (const { urlKey, status, reason, message, attempts, settled } of refusals) {
      const query = em.createQueryBuilder(ImageSchema).update({ status, reason, message, attempts, settled })
      await query.where({ urlKey, status: { $nin: [...keptStatuses] } }).execute('run')
    }
  })
  return refusals.map(() => undefined)
}

/** The rows of the items and of the pictures that they refer to, locked in one order so that processes can't wait for each other in a ring. */
async function readRows(em: SqlEntityManager, items: readonly FetchedItem[]): Promise<Rows> {
  const ids = new Set(items.flatMap(({ id, duplicateOf, review, replaces }) => [id, duplicateOf?.id, review?.id, replaces?.id].filter((id) => id !== undefined)))
  const query = em.createQueryBuilder(ImageSchema).select('*').where({ id: { $in: [...ids] } }).orderBy({ id: 'asc' }).setLockMode(LockMode.PESSIMISTIC_WRITE)
  const rows = await query.execute<Row[]>('all', true)
  return new Map(rows.map((row) => [Number(row.id), { ...row, id: Number(row.id), duplicateOf: toId(row.duplicateOf), reviewOf: toId(row.reviewOf) }]))
}

/** PostgreSQL gives a bigint as a text. */
const toId = (value: number | string | null): number | null => (value === null ? null : Number(value))

/** One statement for all: the rows are there, so each is a conflict. */
async function writeRows(em: SqlEntityManager, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return
  const written = (Object.keys(rows[0] as Row) as (keyof Row)[]).filter((name) => !(fixed as readonly string[]).includes(name))
  await em.createQueryBuilder(ImageSchema).insert(rows as never).onConflict('id').merge(written as never).execute('run')
}

/** Rows of this batch that were read before their original was replaced. */
function repointRead(rows: Rows, from: number, to: number): void {
  for (const row of rows.values()) {
    if (row.duplicateOf === from && row.id !== to) row.duplicateOf = to
    if (row.reviewOf === from && row.id !== to) row.reviewOf = to
  }
}

/** Fills the row of an item, and answers the row whose place it takes. */
function fill(row: Row, item: FetchedItem, rows: Rows): Row | undefined {
  const { image, hashes, duplicateOf, review, replaces } = item
  Object.assign(row, {
    ...{ sha256: image.sha256, width: image.width, height: image.height, fileSize: image.size },
    ...{ contentType: image.contentType, format: image.format, frames: image.frames },
    ...{ aHash: hashes?.aHash ?? null, dHash: hashes?.dHash ?? null, pHash: hashes?.pHash ?? null, flat: hashes?.flat ?? null },
    ...{ altText: item.alt === undefined ? null : storableText(item.alt), data: storableJson(item.data) },
    ...{ downloadedAt: new Date(), attempts: item.attempt, settled: true, reason: null, message: null },
  })
  if (duplicateOf !== undefined) {
    const { distance, exact } = duplicateOf
    Object.assign(row, { status: 'duplicate', duplicateOf: present(duplicateOf.id, rows), distance, reason: exact ? 'exact' : 'near', path: null })
    return undefined
  }
  if (item.key === undefined) throw new CrawlError('row', `${item.url} has no file: the pipeline save must stand before persist.`, { reason: 'no file' })
  Object.assign(row, { status: 'downloaded', path: item.key })
  const old = replaces === undefined ? undefined : rows.get(replaces.id)
  if (old?.status === 'downloaded') {
    // Its path stays until the file is gone: a crash before that is found by `abandoned`.
    Object.assign(old, { status: 'duplicate', duplicateOf: row.id, distance: replaces?.distance, reason: 'near' })
    return old
  }
  const similar = review ?? replaces
  if (similar !== undefined) Object.assign(row, { reviewOf: present(similar.id, rows), reviewDistance: similar.distance })
  return undefined
}

/** The kept picture that has taken the place of this one, or itself. */
function present(id: number, rows: Rows): number {
  const row = rows.get(id)
  return row?.status === 'duplicate' ? (row.duplicateOf ?? id) : id
}

async function repoint(em: SqlEntityManager, from: number, to: number): Promise<void> {
  const rows = () => em.createQueryBuilder(ImageSchema)
  await rows().update({ duplicateOf: to }).where({ duplicateOf: from }).execute('run')
  await rows().update({ reviewOf: to }).where({ reviewOf: from, id: { $ne: to } }).execute('run')
}
