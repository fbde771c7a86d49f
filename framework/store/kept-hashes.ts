import { HashIndex } from '../image/hash-index.ts'
import type { PerceptualHashes, SimilarImage } from '../item.ts'
import type { Orm } from './connect.ts'
import { ImageSchema } from './entities.ts'

export type HashName = 'pHash' | 'dHash' | 'aHash'

export interface KeptHashesOptions {
  readonly orm: Orm
  /** Which hash tells that pictures are the same. */
  readonly hash: HashName
  /** True when other processes may write to the database. */
  readonly shared: boolean
}

/** Rows read at once. */
const pageSize = 10_000
/** How often the rows of other processes are looked for. */
const refreshMs = 3_000
/** Other processes' clocks may be off by so much, or their commits take so long. */
const overlapMs = 60_000

interface HashRow {
  readonly id: number | string
  readonly hash: string
  readonly downloadedAt: Date
}

/**
 * The hashes of all kept pictures that aren't flat, in memory: read once when the store opens, then kept in step. Where
 * other processes write too, their new rows are added every few seconds; until then, two processes may each keep a copy.
 */
export class KeptHashes {
  readonly #options: KeptHashesOptions
  readonly #index = new HashIndex()
  /** Rows of the last minute by id, with the time of their download: they are found again by the next refresh. */
  readonly #recent = new Map<number, number>()
  #refreshedAt = 0
  #refresh: Promise<void> | undefined

  constructor(options: KeptHashesOptions) {
    this.#options = options
  }

  async load(): Promise<void> {
    this.#refreshedAt = Date.now()
    for (let lastId = 0; ; ) {
      const rows = await this.#read({ id: { $gt: lastId } }, pageSize)
      for (const row of rows) this.#addRow(row)
      if (rows.length < pageSize) break
      lastId = Number(rows.at(-1)?.id)
    }
  }

  /** Adds a picture that has just been kept, unless it is flat. */
  add(id: number, hashes: PerceptualHashes): void {
    if (!hashes.flat) this.#add(id, hashes[this.#options.hash], Date.now())
  }

  has(id: number): boolean {
    return this.#index.has(id)
  }

  delete(id: number): void {
    this.#index.delete(id)
  }

  /** The nearest kept picture within `distance` bits. Its row may be gone if another process has replaced it. */
  async nearest(hash: string, distance: number): Promise<SimilarImage | undefined> {
    if (this.#options.shared && Date.now() - this.#refreshedAt >= refreshMs) {
      this.#refresh ??= this.#readRecent().finally(() => (this.#refresh = undefined))
      await this.#refresh
    }
    return this.#index.nearest(hash, distance)
  }

  async #readRecent(): Promise<void> {
    const since = this.#refreshedAt - overlapMs
    const now = Date.now()
    for (const row of await this.#read({ downloadedAt: { $gte: new Date(since) } })) this.#addRow(row)
    this.#refreshedAt = now
    for (const [id, downloadedAt] of this.#recent) {
      if (downloadedAt < now - overlapMs) this.#recent.delete(id)
    }
  }

  #addRow({ id, hash, downloadedAt }: HashRow): void {
    this.#add(Number(id), hash, downloadedAt.getTime())
  }

  #add(id: number, hash: string, downloadedAt: number): void {
    if (this.#recent.has(id)) return
    if (this.#options.shared && downloadedAt > this.#refreshedAt - overlapMs) this.#recent.set(id, downloadedAt)
    this.#index.add(id, hash)
  }

  async #read(where: object, limit?: number): Promise<HashRow[]> {
    const { orm, hash } = this.#options
    const query = orm.em
      .fork()
      .createQueryBuilder(ImageSchema)
      .select(['id', hash, 'downloadedAt'])
      .where({ status: 'downloaded', flat: false, [hash]: { $ne: null }, ...where })
      .orderBy({ id: 'asc' })
    if (limit !== undefined) query.limit(limit)
    const rows = await query.execute<Record<string, unknown>[]>('all', true)
    return rows.map((row) => ({ id: row['id'] as number, hash: row[hash] as string, downloadedAt: row['downloadedAt'] as Date }))
  }
}
