/** downloaded: kept. duplicate: the picture is kept under another URL. dropped: not wanted. failed: not to be had. */
export type ImageStatus = 'downloaded' | 'duplicate' | 'dropped' | 'failed'

export type ImageReason =
  | 'exact duplicate'
  | 'near duplicate'
  | 'too small'
  | 'robots'
  | 'http 404'
  | 'truncated'
  | 'empty'
  | 'not an image'
  | 'redirect loop'
  | 'too many redirects'

export interface ExpectedImage {
  readonly url: string
  /** The same on all pages where the image stands. */
  readonly alt: string
  /** One status; or `downloaded` and `duplicate` where it depends on the order of arrival. */
  readonly statuses: readonly ImageStatus[]
  /** Why it isn't kept, if it isn't. */
  readonly reason?: ImageReason
  /** Id of the group of URLs that show the same picture. */
  readonly group?: string
  /** A lesser candidate of a srcset: a crawler that takes only the best one never asks for it. */
  readonly optional: boolean
}

/** URLs of one picture: exactly one of them is kept. */
export interface ExpectedGroup {
  readonly id: string
  readonly reason: 'exact duplicate' | 'near duplicate'
  readonly members: readonly string[]
  /** Those that may be the one that is kept: all but those of which another has at least 1.5 times the pixels. */
  readonly originals: readonly string[]
}

export interface FailedPage {
  readonly url: string
  readonly reason: 'http 404' | 'robots' | 'redirect loop' | 'too many redirects'
}

/** What a right crawl of the demo site finds. All URLs are in their canonical spelling. */
export interface DemoExpectation {
  /** Distinct pages that answer 200, redirects followed. */
  readonly pages: readonly string[]
  readonly failedPages: readonly FailedPage[]
  readonly images: readonly ExpectedImage[]
  readonly groups: readonly ExpectedGroup[]
  /** Pictures so alike that somebody should look at them, and yet both kept: 6 to 10 bits of pHash apart. */
  readonly reviews: readonly (readonly [string, string])[]
  /** Images by final status, without optional ones. Their sum is the number of image URLs found. */
  readonly totals: Readonly<Record<ImageStatus, number>>
  /** Forbidden by robots.txt: requests for these must be none. */
  readonly neverRequested: readonly string[]
  /** Written in several spellings on the pages: one request each. */
  readonly requestedOnce: readonly string[]
  /** Links to another site, which must not be followed. */
  readonly offsite: readonly string[]
}

/** An image as the catalog declares it. */
export interface DeclaredImage {
  readonly url: string
  readonly alt: string
  /** Pixels of it, to find the larger one of a group. */
  readonly pixels: number
  readonly fate: 'kept' | { readonly status: 'dropped' | 'failed'; readonly reason: ImageReason }
  readonly group?: string
  /** The same text for the same bytes. */
  readonly bytes: string
  readonly optional?: boolean
}

/** Groups of one are no groups. */
export function gatherGroups(images: readonly DeclaredImage[]): ExpectedGroup[] {
  const byId = new Map<string, DeclaredImage[]>()
  for (const image of images) {
    if (image.group === undefined || image.fate !== 'kept') continue
    byId.set(image.group, [...(byId.get(image.group) ?? []), image])
  }
  return [...byId].filter(([, members]) => members.length > 1).map(([id, members]) => {
    const largest = Math.max(...members.map(({ pixels }) => pixels))
    return {
      id,
      reason: members.every(({ bytes }) => bytes === members[0]?.bytes) ? 'exact duplicate' : 'near duplicate',
      members: members.map(({ url }) => url),
      originals: members.filter(({ pixels }) => pixels * 1.5 > largest).map(({ url }) => url),
    }
  })
}

export function expectImage(image: DeclaredImage, groups: readonly ExpectedGroup[]): ExpectedImage {
  const { url, alt, fate } = image
  const optional = image.optional === true
  if (fate !== 'kept') return { url, alt, statuses: [fate.status], reason: fate.reason, optional }
  const group = groups.find(({ id }) => id === image.group)
  if (group === undefined) return { url, alt, statuses: ['downloaded'], optional }
  const statuses: ImageStatus[] = !group.originals.includes(url) ? ['duplicate']
    : group.originals.length === 1 ? ['downloaded'] : ['downloaded', 'duplicate']
  return { url, alt, statuses, group: group.id, optional, ...(statuses.includes('duplicate') ? { reason: group.reason } : {}) }
}

export function countStatuses(images: readonly ExpectedImage[]): Record<ImageStatus, number> {
  const totals = { downloaded: 0, duplicate: 0, dropped: 0, failed: 0 }
  const kept = new Set<string>()
  for (const { optional, statuses, group } of images) {
    if (optional) continue
    if (group === undefined) totals[statuses[0] ?? 'failed']++
    else totals[kept.has(group) ? 'duplicate' : 'downloaded']++
    if (group !== undefined) kept.add(group)
  }
  return totals
}
