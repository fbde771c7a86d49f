import { createHash } from 'node:crypto'
import { Batcher } from '../async/batcher.ts'
import { CrawlError, isCrawlError, messageOf } from '../errors.ts'
import { canonicalizeUrl, type CanonicalizeOptions } from '../http/url.ts'
import type { FetchedItem, Item, Stored } from '../item.ts'
import type { Address } from './address.ts'
import { disconnect, type Orm } from './connect.ts'
import { ImageSchema } from './entities.ts'
import type { KeptHashes } from './kept-hashes.ts'
import type { Outage } from './outage.ts'
import { refuseAll, saveAll, type Refused } from './saving.ts'
import { storableJson, storableText } from './storable.ts'
import type { ImageStatus, KeptImage, KnownImage, Refusal, StatusCount, Store } from './store.ts'

export interface SqlStoreOptions {
  readonly orm: Orm
  readonly address: Address
  readonly hashes: KeptHashes
  readonly outage: Outage
  /** How URLs are compared: all spellings of one have one row. */
  readonly urls: CanonicalizeOptions
}

interface Found {
  readonly key: string
  readonly row: ReturnType<typeof newRow>
}

interface KnownRow {
  readonly id: number | string
  readonly urlKey: string
  readonly status: ImageStatus
  readonly reason: string | null
  readonly settled: boolean
  readonly foundAt: Date
  readonly sourceSite: string
}

/** As the driver gives it: PostgreSQL's large numbers are texts. */
interface KeptRow {
  readonly id: number | string
  readonly width: number
  readonly height: number
  readonly file_size: number | string
  readonly frames: number
  readonly path: string
}

interface CountRow {
  readonly status: ImageStatus
  readonly reason: string
  readonly count: number | string
  readonly bytes: number | string
}

/** So many milliseconds a first write waits for others. */
const waitMs = 10
const maxFound = 200
const maxSaved = 50
/** SQLite takes no more rows in one insert (SQLITE_MAX_COMPOUND_SELECT), and long lists of values are slow to read. */
const maxInStatement = 500

const isInputError = (error: unknown): boolean => isCrawlError(error, 'row')

/** Rows in SQLite or PostgreSQL, through MikroORM. Each batch has an entity manager of its own, so that memory stays flat. */
export class SqlStore implements Store {
  readonly location: string
  readonly #options: SqlStoreOptions
  readonly #finds: Batcher<Found, KnownImage>
  readonly #saves: Batcher<FetchedItem, Stored>
  readonly #refusals: Batcher<Refused, void>

  constructor(options: SqlStoreOptions) {
    const { orm, address, hashes, outage } = options
    this.location = address.location
    this.#options = options
    this.#finds = new Batcher({ waitMs, isInputError, max: maxFound, flush: (found) => outage.run(() => this.#insertMissing(found)) })
    this.#saves = new Batcher({ waitMs, isInputError, max: maxSaved, flush: (items) => outage.run(() => saveAll(orm, hashes, items)) })
    this.#refusals = new Batcher({ waitMs, isInputError, max: maxSaved, flush: (refusals) => outage.run(() => refuseAll(orm, refusals)) })
  }

  async found(items: readonly Item[], site: string): Promise<ReadonlyMap<string, KnownImage>> {
    const waiting = items.map((item) => ({ url: item.url, found: toFound(item, this.#keyOf(item.url), site) }))
    return new Map(await Promise.all(waiting.map(async ({ url, found }) => [url, await this.#finds.add(found)] as const)))
  }

  async known(urls: readonly string[]): Promise<ReadonlyMap<string, KnownImage>> {
    const keys = new Map(urls.map((url) => [url, this.#keyOf(url)]))
    const known = await this.#options.outage.run(() => this.#readKnown([...new Set(keys.values())]))
    const byUrl = new Map<string, KnownImage>()
    for (const [url, key] of keys) {
      const image = known.get(key)
      if (image !== undefined) byUrl.set(url, image)
    }
    return byUrl
  }

  save(item: FetchedItem): Promise<Stored> {
    return this.#saves.add(item)
  }

  refuse({ url, ...refusal }: Refusal): Promise<void> {
    const reason = storableText(refusal.reason, 200)
    const message = storableText(refusal.message, 2_000)
    return this.#refusals.add({ ...refusal, urlKey: this.#keyOf(url), reason, message })
  }

  sameBytes(sha256: string): Promise<KeptImage | undefined> {
    return this.#readKept('sha256', sha256, 0)
  }

  async similar(hash: string, distance: number): Promise<KeptImage | undefined> {
    const { hashes, outage } = this.#options
    for (;;) {
      const nearest = await outage.run(() => hashes.nearest(hash, distance))
      if (nearest === undefined) return undefined
      const kept = await this.#readKept('id', nearest.id, nearest.distance)
      if (kept !== undefined) return kept
      hashes.delete(nearest.id)
    }
  }

  async abandoned(): Promise<readonly { readonly id: number; readonly key: string }[]> {
    const query = () => this.#query().select(['id', 'path']).where({ status: 'duplicate', path: { $ne: null } })
    const rows = await this.#options.outage.run(() => query().execute<{ id: number | string; path: string }[]>('all', true))
    return rows.map(({ id, path }) => ({ id: Number(id), key: path }))
  }

  async forgetFile(id: number): Promise<void> {
    await this.#options.outage.run(() => this.#query().update({ path: null }).where({ id, status: 'duplicate' }).execute('run'))
  }

  async counts(site?: string): Promise<readonly StatusCount[]> {
    const where = site === undefined ? '' : 'where source_site = ?'
    const columns = "status, coalesce(reason, '') as reason, count(*) as count, coalesce(sum(file_size), 0) as bytes"
    const sql = `select ${columns} from image ${where} group by 1, 2 order by 1, 2`
    const parameters = site === undefined ? [] : [site]
    const connection = this.#options.orm.em.getConnection()
    const rows = await this.#options.outage.run(() => connection.execute<CountRow[]>(sql, parameters))
    return rows.map(({ status, reason, count, bytes }) => ({ status, reason, count: Number(count), bytes: Number(bytes) }))
  }

  async close(): Promise<void> {
    await Promise.all([this.#finds.drain(), this.#saves.drain(), this.#refusals.drain()])
    await disconnect(this.#options.orm, this.#options.address)
  }

  /** Half a SHA-256 of the canonical URL: two of them with one key are not to be expected among any number of images. */
  #keyOf(url: string): string {
    return createHash('sha256').update(canonicalizeUrl(url, this.#options.urls)).digest('hex').slice(0, 32)
  }

  #query() {
    return this.#options.orm.em.fork().createQueryBuilder(ImageSchema)
  }

  /** Reads first: on most pages every image is known, and rows that are there cost PostgreSQL an id each when inserted in vain. */
  async #insertMissing(found: readonly Found[]): Promise<KnownImage[]> {
    const rows = new Map<string, Found['row']>()
    for (const { key, row } of found) if (!rows.has(key)) rows.set(key, row)
    const known = await this.#readKnown([...rows.keys()])
    const missing = [...rows].filter(([key]) => !known.has(key))
    if (missing.length > 0) {
      const inserted = missing.map(([, row]) => row)
      await this.#query().insert(inserted).onConflict('urlKey').ignore().execute('run')
      for (const [urlKey, image] of await this.#readKnown(inserted.map((row) => row.urlKey))) known.set(urlKey, image)
    }
    return found.map(({ key, row }) => known.get(key) ?? raise(row.url))
  }

  /** By the key of the URL. */
  async #readKnown(keys: readonly string[]): Promise<Map<string, KnownImage>> {
    const known = new Map<string, KnownImage>()
    for (let start = 0; start < keys.length; start += maxInStatement) {
      const urlKey = { $in: keys.slice(start, start + maxInStatement) }
      const query = this.#query().select(['id', 'urlKey', 'status', 'reason', 'settled', 'foundAt', 'sourceSite']).where({ urlKey })
      for (const row of await query.execute<KnownRow[]>('all', true)) {
        const { id, status, reason, settled, foundAt, sourceSite: site } = row
        known.set(row.urlKey, { id: Number(id), status, reason: reason ?? '', settled, foundAt: foundAt.getTime(), site })
      }
    }
    return known
  }

  /** Plain SQL: every image asks, and building the query costs more than answering it. */
  async #readKept(column: 'id' | 'sha256', value: number | string, distance: number): Promise<KeptImage | undefined> {
    const { orm, outage } = this.#options
    const condition = `${column} = ? and status = 'downloaded'`
    const sql = `select id, width, height, file_size, frames, path from image where ${condition} order by id limit 1`
    const [row] = await outage.run(() => orm.em.getConnection().execute<KeptRow[]>(sql, [value]))
    if (row === undefined) return undefined
    const { id, width, height, file_size: size, frames, path: key } = row
    return { id: Number(id), distance, width, height, size: Number(size), frames, key }
  }
}

function toFound(item: Item, key: string, site: string): Found {
  try {
    return { key, row: newRow(item, key, site) }
  } catch (cause) {
    const what = `The data of ${item.url} can't be stored as JSON: ${messageOf(cause)}`
    throw new CrawlError('row', what, { reason: 'row refused', cause })
  }
}

function newRow({ url, pageUrl, alt, data }: Item, urlKey: string, sourceSite: string) {
  return {
    url: storableText(url, Infinity),
    urlKey,
    pageUrl: storableText(pageUrl, Infinity),
    altText: alt === undefined ? null : storableText(alt),
    data: storableJson(data),
    sourceSite,
    foundAt: new Date(),
    status: 'pending' as const,
    attempts: 0,
    settled: false,
  }
}

function raise(url: string): never {
  throw new CrawlError('row', `The row of ${url} is gone: was it deleted while the crawl was running?`, { reason: 'row is gone' })
}
