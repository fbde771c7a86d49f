import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/libsql'
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

/** What must be there in an insert, though the row is there and none of it is changed. */
const fixed = ['id', 'urlKey', 'url', 'foundAt', 'pageUrl', 'sourceSite'] as const

interface Row extends Readonly<Record<Exclude<(typeof fixed)[number], 'id'>, unknown>> {
  readonly id: number
  status: ImageStatus
  duplicateOf: number | null
}

type Rows = ReadonlyMap<number, Row>

interface Replacement {
  readonly from: number
  readonly to: number
  readonly distance: number
}

/** Changes nothing, and makes the transaction one that writes. */
const lock = 'update image set settled = settled where 1 = 0'
const keptStatuses: readonly ImageStatus[] = ['downloaded', 'duplicate']

/** Commits items in one transaction, then brings the hashes in memory in step. What is kept already stays as it is. */
export async function saveAll(orm: Orm, hashes: KeptHashes, items: readonly FetchedItem[]): Promise<Stored[]> {
  const receipts: Stored[] = []
  const replacements: Replacement[] = []
  const repeated = new Set<number>()
  await transact(orm, lock, async (em) => {
    const rows = await readRows(em, items)
    const values: ReturnType<typeof valuesOf>[] = []
    for (const item of items) {
      const row = rows.get(item.id)
      if (row === undefined) throw goneRow(item)
      if (keptStatuses.includes(row.status)) {
        repeated.add(row.id)
      } else {
        const old = item.replaces === undefined ? undefined : rows.get(item.replaces.id)
        values.push(valuesOf(item, row, rows))
        row.status = item.duplicateOf === undefined ? 'downloaded' : 'duplicate'
        if (item.replaces !== undefined && old?.status === 'downloaded') {
          Object.assign(old, { status: 'duplicate', duplicateOf: row.id })
          replacements.push({ from: old.id, to: row.id, distance: item.replaces.distance })
        }
      }
      receipts.push(createStored(row.id, row.status === 'duplicate' ? 'duplicate' : 'downloaded'))
    }
    await write(em, values)
    for (const replacement of replacements) await replace(em, replacement)
  })
  for (const { from } of replacements) hashes.delete(from)
  for (const [index, { id, hashes: own }] of items.entries()) {
    if (receipts[index]?.status !== 'downloaded' || own === undefined) continue
    // A commit whose answer was lost is repeated: its rows are kept, its hashes aren't here.
    if (!repeated.has(id) || !hashes.has(id)) hashes.add(id, own)
  }
  return receipts
}

/** Remembers in one transaction what wasn't kept. A row that is kept is not touched. */
export async function refuseAll(orm: Orm, refusals: readonly Refused[]): Promise<void[]> {
  await transact(orm, lock, async (em) => {
    for (const { urlKey, status, reason, message, attempts, settled } of refusals) {
      const query = em.createQueryBuilder(ImageSchema).update({ status, reason, message, attempts, settled })
      await query.where({ urlKey, status: { $nin: [...keptStatuses] } }).execute('run')
    }
  })
  return refusals.map(() => undefined)
}

/** The rows of the items and of those that they refer to, locked in one order so that no two processes wait for each other. */
async function readRows(em: SqlEntityManager, items: readonly FetchedItem[]): Promise<Rows> {
  const ids = items.flatMap(({ id, duplicateOf, review, replaces }) => [id, duplicateOf?.id, review?.id, replaces?.id])
  const query = em
    .createQueryBuilder(ImageSchema)
    .select([...fixed, 'status', 'duplicateOf'])
    .where({ id: { $in: [...new Set(ids)].filter((id) => id !== undefined) } })
    .orderBy({ id: 'asc' })
    .setLockMode(LockMode.PESSIMISTIC_WRITE)
  const rows = await query.execute<Row[]>('all', true)
  // PostgreSQL gives a bigint as a text.
  const toId = (value: number | null): number | null => (value === null ? null : Number(value))
  return new Map(rows.map((row) => [Number(row.id), { ...row, id: Number(row.id), duplicateOf: toId(row.duplicateOf) }]))
}

/** All columns of an item's row. */
function valuesOf(item: FetchedItem, row: Row, rows: Rows) {
  const { image, hashes, duplicateOf, review, replaces } = item
  if (duplicateOf === undefined && item.key === undefined) {
    throw new CrawlError('row', `${item.url} has no file: the pipeline save must stand before persist.`, { reason: 'no file' })
  }
  const isReplacing = replaces !== undefined && rows.get(replaces.id)?.status === 'downloaded'
  const alike = duplicateOf !== undefined || isReplacing ? undefined : (review ?? replaces)
  const { id, urlKey, url, foundAt, pageUrl, sourceSite } = row
  return {
    id,
    urlKey,
    url,
    foundAt,
    pageUrl,
    sourceSite,
    altText: item.alt === undefined ? null : storableText(item.alt),
    data: storableJson(item.data),
    path: duplicateOf === undefined ? item.key : null,
    aHash: hashes?.aHash ?? null,
    dHash: hashes?.dHash ?? null,
    pHash: hashes?.pHash ?? null,
    flat: hashes?.flat ?? null,
    sha256: image.sha256,
    width: image.width,
    height: image.height,
    fileSize: image.size,
    contentType: image.contentType,
    format: image.format,
    frames: image.frames,
    downloadedAt: new Date(),
    status: duplicateOf === undefined ? 'downloaded' : 'duplicate',
    duplicateOf: duplicateOf === undefined ? null : present(duplicateOf.id, rows),
    distance: duplicateOf?.distance ?? null,
    reviewOf: alike === undefined ? null : present(alike.id, rows),
    reviewDistance: alike?.distance ?? null,
    reason: duplicateOf === undefined ? null : duplicateOf.exact ? 'exact' : 'near',
    message: null,
    attempts: item.attempt,
    settled: true,
  }
}

/** One statement for all: the rows are there, so each is a conflict, and what isn't fixed is written. */
async function write(em: SqlEntityManager, values: readonly object[]): Promise<void> {
  const [first] = values
  if (first === undefined) return
  const written = Object.keys(first).filter((name) => !(fixed as readonly string[]).includes(name))
  await em.createQueryBuilder(ImageSchema).insert(values as never).onConflict('id').merge(written as never).execute('run')
}

/** The path of the replaced row stays until its file is gone: a crash before that is found by `abandoned`. */
async function replace(em: SqlEntityManager, { from, to, distance }: Replacement): Promise<void> {
  const rows = () => em.createQueryBuilder(ImageSchema)
  await rows().update({ duplicateOf: to }).where({ duplicateOf: from }).execute('run')
  await rows().update({ reviewOf: to }).where({ reviewOf: from }).execute('run')
  await rows().update({ status: 'duplicate', duplicateOf: to, distance, reason: 'near' }).where({ id: from }).execute('run')
}

/** The kept picture that has taken the place of this one, or itself. */
function present(id: number, rows: Rows): number {
  const row = rows.get(id)
  return row?.status === 'duplicate' ? (row.duplicateOf ?? id) : id
}

function goneRow({ url }: FetchedItem): CrawlError {
  return new CrawlError('row', `The row of ${url} is gone: was it deleted while the crawl was running?`, { reason: 'row is gone' })
}
