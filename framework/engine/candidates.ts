import type { FoundItem, Item } from '../item.ts'
import type { KnownImage, Store } from '../store/store.ts'

export interface Candidates {
  /** To be downloaded: the items themselves, or the first of their fallbacks that may still be had. */
  readonly wanted: readonly FoundItem[]
  /** Kept or refused before, with all of their fallbacks. */
  readonly known: readonly Item[]
}

/** Makes rows for images that have none, and finds what is to be downloaded: where an image is known not to be had, its next fallback. */
export async function findCandidates(store: Store, items: readonly Item[], site: string): Promise<Candidates> {
  const wanted: FoundItem[] = []
  const known: Item[] = []
  for (let pending = [...items]; pending.length > 0; ) {
    const rows = await store.found(pending, site)
    const next: Item[] = []
    for (const item of pending) {
      const row = rows.get(item.url) as KnownImage
      if (!row.settled) wanted.push({ ...item, id: row.id, foundAt: row.foundAt, site: row.site })
      else {
        const fallback = row.status === 'failed' ? nextFallback(item) : undefined
        if (fallback === undefined) known.push(item)
        else next.push(fallback)
      }
    }
    pending = next
  }
  return { wanted, known }
}

/** The same image under its next address; undefined when it has no other. */
export function nextFallback(item: Item): Item | undefined {
  const [url, ...fallbacks] = item.fallbacks ?? []
  return url === undefined ? undefined : { ...item, url, fallbacks }
}
