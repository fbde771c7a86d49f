import type { SqlEntityManager } from '@mikro-orm/libsql'
import { LockMode } from '@mikro-orm/core'
import { CrawlError } from '../errors.ts'
import { createStored, type FetchedItem, type Stored } from '../item.ts'
import type { Orm } from './connect.ts'
import { ImageSchema, type ImageRow } from './entities.ts'
import type { KeptHashes } from './kept-hashes.ts'
import { storableJson, storableText } from './storable.ts'
import type { Refusal } from './store.ts'

/** A refusal with its URL's key. */
export interface Refused extends Omit<Refusal, 'url'> {
  readonly urlKey: string
}

/** Read for every row of a batch; `data` is only written. */
const fields = ['id', 'status', 'path', 'settled', 'duplicateOf', 'flat', 'downloadedAt'] as const
const keptStatuses = ['downloaded', 'duplicate'] as const

type Rows = ReadonlyMap<number, ImageRow>

/** Commits items in one transaction, then brings the hashes in memory in step. What is kept already stays as it is. */
export async function saveAll(orm: Orm, hashes: KeptHashes, items: readonly FetchedItem[]): Promise<Stored[]> {
  const { stored, kept, repeated, replaced } = await orm.em.fork().transactional(async (em) => {
    const rows = await readRows(em, items)
    const kept: FetchedItem[] = []
    const repeated: FetchedItem[] = []
    const replaced: number[] = []
    const stored: Stored[] = []
    for (const item of items) {
      const row = rows.get(item.id)
      if (row === undefined) throw new CrawlError('row', `The row of ${item.url} is gone: was it deleted while the crawl was running?`, { reason: 'row is gone' })
      if (row.status === 'downloaded' || row.status === 'duplicate') {
        if (row.status === 'downloaded') repeated.push(item)
        stored.push(createStored(row.id, row.status))
        continue
      }
      const replacedId = fill(row, item, rows)
      if (replacedId !== undefined) {
        await em.flush()
        await repoint(em, replacedId, row.id)
        replaced.push(replacedId)
      }
      if (item.duplicateOf === undefined) kept.push(item)
      stored.push(createStored(row.id, item.duplicateOf === undefined ? 'downloaded' : 'duplicate'))
    }
    return { stored, kept, repeated, replaced }
  })
  for (const id of replaced) hashes.delete(id)
  // A commit whose answer was lost is repeated: its rows are kept, its hashes aren't here.
  const added = [...kept, ...repeated.filter(({ id }) => !hashes.has(id))]
  for (const item of added) if (item.hashes !== undefined) hashes.add(item.id, item.hashes)
  return stored
}

/** Remembers in one transaction what wasn't kept. A row that is kept is not touched. */
export async function refuseAll(orm: Orm, refusals: readonly Refused[]): Promise<void[]> {
  await orm.em.fork().transactional(async (em) => {
    const urlKey = { $in: refusals.map((refusal) => refusal.urlKey) }
    const rows = await em.find(ImageSchema, { urlKey, status: { $nin: [...keptStatuses] } }, { fields: ['id', 'urlKey'], orderBy: { id: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE })
    const byKey = new Map(rows.map((row) => [row.urlKey, row]))
    for (const { urlKey, status, reason, message, attempts, settled } of refusals) {
      const row = byKey.get(urlKey)
      if (row !== undefined) Object.assign(row, { status, reason, message, attempts, settled })
    }
  })
  return refusals.map(() => undefined)
}

/** The rows of the items and of the pictures that they refer to, locked in one order so that processes can't wait for each other in a ring. */
async function readRows(em: SqlEntityManager, items: readonly FetchedItem[]): Promise<Rows> {
  const ids = new Set(items.flatMap(({ id, duplicateOf, review, replaces }) => [id, duplicateOf?.id, review?.id, replaces?.id].filter((id) => id !== undefined)))
  const rows = await em.find(ImageSchema, { id: { $in: [...ids] } }, { fields, orderBy: { id: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE })
  return new Map(rows.map((row) => [row.id, row as ImageRow]))
}

/** Fills the row of an item, and answers the id of the row whose place it takes. */
function fill(row: ImageRow, item: FetchedItem, rows: Rows): number | undefined {
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
    return old.id
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
