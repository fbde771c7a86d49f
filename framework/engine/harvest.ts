import { rm } from 'node:fs/promises'
import { compose, type Middleware } from '../compose.ts'
import { CrawlError, SettingsError } from '../errors.ts'
import type { Lease } from '../frontier/frontier.ts'
import type { ImageResponse } from '../http/response.ts'
import { inspectImage } from '../image/inspect.ts'
import { isStored, type FetchedItem, type Item, type Stored } from '../item.ts'
import type { KnownImage, Store } from '../store/store.ts'

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

  /** True when the store needs this image no more: it was kept by a try that the process did not live to settle. */
  async isSettled(url: string): Promise<boolean> {
    const known = await this.#options.store.known([url])
    return known.get(url)?.settled === true
  }

  /** Inspects and keeps one image; its temporary file is gone afterwards. */
  async harvest(response: ImageResponse, lease: Lease): Promise<void> {
    const { maxPixels, signal, onStored } = this.#options
    try {
      const image = await inspectImage(response, { maxPixels, signal })
      const item = itemOf(lease)
      const known = await this.#row(item)
      const { id, foundAt, site } = known
      const fetched: FetchedItem = { ...item, id, foundAt, site, attempt: lease.attempt + lease.interruptions, image }
      const stored = await this.#run(fetched, notPersisted)
      if (!isStored(stored)) throw notStored()
      onStored(fetched, stored)
    } finally {
      await rm(response.path, { force: true })
    }
  }

  async #row(item: Item): Promise<KnownImage> {
    const rows = await this.#options.store.found([item], this.#options.site)
    const known = rows.get(item.url)
    if (known === undefined) throw new CrawlError('store', `The store has no row for ${item.url}.`)
    return known
  }
}

function itemOf({ request }: Lease): Item {
  return request.item ?? { url: request.url, pageUrl: request.referer ?? request.url, data: request.meta }
}

async function notPersisted(): Promise<Stored> {
  throw new SettingsError('The last pipeline called next(): the innermost of `pipelines` in settings.ts must be one that commits the row, such as persist.')
}

function notStored(): SettingsError {
  return new SettingsError('A pipeline did not return what next() answered. Each must end with `return next(item)`, or throw DropItem.')
}
