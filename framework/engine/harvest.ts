import { unlink } from 'node:fs/promises'
import { compose, type Middleware } from '../compose.ts'
import { CrawlError, SettingsError } from '../errors.ts'
import type { Lease, Outcome } from '../frontier/frontier.ts'
import type { ImageResponse } from '../http/response.ts'
import { inspectImage } from '../image/inspect.ts'
import { isStored, type FetchedItem, type FoundItem, type Stored } from '../item.ts'
import type { Store } from '../store/store.ts'
import { recalledOutcome } from './outcome.ts'

export interface HarvesterOptions {
  readonly pipelines: readonly Middleware<FetchedItem<any>, Promise<Stored>>[]
  readonly store: Store
  readonly site: string
  readonly maxPixels: number
  readonly signal: AbortSignal
  readonly onStored: (item: FetchedItem, stored: Stored) => void
}

/** Runs images through the pipelines. The row is committed before the image is settled: a crash in between only makes `known` answer for it. */
export class Harvester {
  readonly #options: HarvesterOptions
  readonly #run: (item: FetchedItem, core: (item: FetchedItem) => Promise<Stored>) => Promise<Stored>

  constructor(options: HarvesterOptions) {
    this.#options = options
    this.#run = compose(options.pipelines)
  }

  /** How an image ended by a try that the process did not live to settle; undefined when it has to be downloaded. */
  async recall(url: string): Promise<Outcome | undefined> {
    const known = await this.#options.store.known([url])
    const image = known.get(url)
    return image?.settled === true ? recalledOutcome(image) : undefined
  }

  /** Inspects and keeps one image; its temporary file is gone afterwards. */
  async harvest(response: ImageResponse, lease: Lease): Promise<void> {
    const { maxPixels, signal, onStored } = this.#options
    try {
      const image = await inspectImage(response, { maxPixels, signal })
      const item = await this.#found(lease)
      const fetched: FetchedItem = { ...item, attempt: lease.attempt + lease.interruptions, image }
      const stored = await this.#run(fetched, notPersisted)
      if (!isStored(stored)) throw notStored()
      onStored(fetched, stored)
    } finally {
      await removeTemporary(response.path)
    }
  }

  /** An image that a callback asked for by a request of its own has no row yet. */
  async #found({ request }: Lease): Promise<FoundItem> {
    const { store, site } = this.#options
    if (request.item !== undefined && 'id' in request.item) return request.item
    const item = request.item ?? { url: request.url, pageUrl: request.referer ?? request.url, data: request.meta }
    const known = await store.found([item], site)
    const row = known.get(item.url)
    if (row === undefined) throw new CrawlError('store', `The store has no row for ${item.url}.`)
    return { ...item, id: row.id, foundAt: row.foundAt, site: row.site }
  }
}

/** Keeping an image has moved its file already. */
async function removeTemporary(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

async function notPersisted(): Promise<Stored> {
  throw new SettingsError('The last pipeline called next(): the innermost of `pipelines` in settings.ts must be one that commits the row, such as persist.')
}

function notStored(): SettingsError {
  return new SettingsError('A pipeline did not return what next() answered. Each must end with `return next(item)`, or throw DropItem.')
}
