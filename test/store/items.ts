import { createHash } from 'node:crypto'
import type { FetchedItem, Item, PerceptualHashes, Thumbnail } from '../../framework/item.ts'
import type { KnownImage } from '../../framework/store/store.ts'

const thumbnail: Thumbnail = { size: 64, rgb: new Uint8Array(64 * 64 * 3) }

export function itemOf(name: string, rest: Partial<Item> = {}): Item {
  return { url: `https://site.test/${name}.jpg`, pageUrl: 'https://site.test/page', data: {}, ...rest }
}

export function hashesOf(pHash: string, flat = false): PerceptualHashes {
  return { aHash: pHash, dHash: pHash, pHash, flat }
}

/** An item that has passed all pipelines. Its bytes are named by its URL unless `bytes` says otherwise. */
export function fetched(item: Item, known: KnownImage, rest: Partial<FetchedItem> & { readonly bytes?: string } = {}): FetchedItem {
  const { bytes = item.url, ...others } = rest
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const measures = { width: 800, height: 600, frames: 1, thumbnail }
  const image = { path: '/nowhere', size: 1000, sha256, format: 'jpeg' as const, contentType: 'image/jpeg', ...measures }
  const { id, foundAt, site } = known
  return { ...item, id, foundAt, site, attempt: 1, image, key: `2026-01-01/${id}.jpg`, ...others }
}
