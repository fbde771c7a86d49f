import { hammingDistance, type FetchedItem, type KeptImage, type Pipeline } from 'orbweaver'

/** An image that is being kept: from its arrival until its row is committed or it has failed. */
interface Arrival {
  readonly sha256: string
  /** Undefined when only equal bytes are a duplicate. */
  readonly hash: string | undefined
  /** Never rejects, and resolves at the latest when the crawl's signal ends the writing that it stands for. */
  readonly ended: Promise<void>
}

/** Pictures whose shapes differ by more than this ratio are not one picture, however alike they are when squeezed to a square. */
const maxStretch = 1.2

/**
 * Finds what is kept already: equal bytes first, then equal pictures by the bits in which their hashes differ (settings
 * `dedupe.*`). A copy is marked as a duplicate, or takes the place of the kept picture when it has many more pixels; what
 * is merely much alike is kept and marked for review, as are animations, of which only the first frame is compared.
 *
 * A picture waits for those that came before it and may be the same until they are kept or have failed, and looks only
 * then: many copies that come at once end as one original. Nothing waits for what comes later, so no two wait for each other.
 */
export const dedupe: Pipeline = ({ settings, store, stats }) => {
  const { hash: hashName, duplicateDistance, reviewDistance, replaceRatio } = settings.dedupe
  // Two pictures near a third one may both want to take its place, so the second waits for the first.
  const waitDistance = Math.max(reviewDistance, 2 * duplicateDistance)
  const arrivals = new Set<Arrival>()

  async function decide(item: FetchedItem, hash: string | undefined): Promise<FetchedItem> {
    const kept = hash === undefined ? undefined : await store.similar(hash, Math.max(duplicateDistance, reviewDistance, 0))
    // Equal bytes have equal hashes: without a neighbour at distance 0 there is no copy to ask for.
    const same = hash === undefined || kept?.distance === 0 ? await store.sameBytes(item.image.sha256) : undefined
    if (same !== undefined) return same.id === item.id ? item : { ...item, duplicateOf: { id: same.id, distance: 0, exact: true } }
    if (kept === undefined || kept.id === item.id) return item
    const { id, distance, key } = kept
    if (distance <= duplicateDistance && isSameShape(item, kept)) {
      const isLarger = pixels(item.image) >= replaceRatio * pixels(kept)
      return isLarger ? { ...item, replaces: { id, distance, key } } : { ...item, duplicateOf: { id, distance, exact: false } }
    }
    return distance <= reviewDistance ? { ...item, review: { id, distance } } : item
  }

  return async function dedupe(item: FetchedItem, next) {
    const hash = item.hashes === undefined || item.hashes.flat ? undefined : item.hashes[hashName]
    const { sha256 } = item.image
    const earlier = [...arrivals].filter((arrival) => arrival.sha256 === sha256 || isNear(arrival.hash, hash, waitDistance))
    let end = (): void => {}
    const arrival: Arrival = { sha256, hash, ended: new Promise((resolve) => (end = resolve)) }
    arrivals.add(arrival)
    try {
      for (const { ended } of earlier) await ended
      const decided = await decide(item, hash)
      const stored = await next(decided)
      const found = nameOf(decided)
      if (found !== undefined) stats.add(`dedupe/${found}`)
      return stored
    } finally {
      arrivals.delete(arrival)
      end()
    }
  }
}

function nameOf({ duplicateOf, replaces, review }: FetchedItem): string | undefined {
  if (duplicateOf !== undefined) return duplicateOf.exact ? 'exact' : 'near'
  return replaces !== undefined ? 'replaced' : review === undefined ? undefined : 'review'
}

function isNear(a: string | undefined, b: string | undefined, distance: number): boolean {
  return a !== undefined && b !== undefined && hammingDistance(a, b) <= distance
}

/** Two still pictures, neither much longer than the other. */
function isSameShape({ image }: FetchedItem, kept: KeptImage): boolean {
  if (image.frames > 1 || kept.frames > 1) return false
  const stretch = image.width / image.height / (kept.width / kept.height)
  return stretch < maxStretch && stretch > 1 / maxStretch
}

function pixels({ width, height }: { readonly width: number; readonly height: number }): number {
  return width * height
}
