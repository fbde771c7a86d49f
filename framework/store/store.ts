import type { FetchedItem, Item, SimilarImage, Stored } from '../item.ts'

export type ImageStatus = 'pending' | 'downloaded' | 'duplicate' | 'dropped' | 'failed'

/** What the store knows of an image URL. */
export interface KnownImage {
  readonly id: number
  readonly status: ImageStatus
  /** Why it was dropped, has failed or is a duplicate; empty for others. */
  readonly reason: string
  /** True when it needs no download: kept, a duplicate, dropped, or failed for good. */
  readonly settled: boolean
  /** When it was found first, ms since 1970. */
  readonly foundAt: number
  /** The spider that found it first. */
  readonly site: string
}

/** A kept image with the same picture, or nearly. */
export interface KeptImage extends SimilarImage {
  readonly width: number
  readonly height: number
  /** Bytes. */
  readonly size: number
  /** 1, or more for an animation or a document. */
  readonly frames: number
  /** Where its file is. */
  readonly key: string
}

/** How an image that isn't kept ended. */
export interface Refusal {
  readonly url: string
  readonly status: 'dropped' | 'failed'
  /** A few words, the same for all of this kind. */
  readonly reason: string
  readonly message: string
  readonly attempts: number
  /** True when no later run should try again: the bytes were refused, or the address is gone. */
  readonly settled: boolean
}

export interface StatusCount {
  readonly status: ImageStatus
  /** Empty unless dropped or failed; for duplicates `exact` or `near`. */
  readonly reason: string
  readonly count: number
  /** Bytes of the files. */
  readonly bytes: number
}

/** What has been harvested, in all runs. The frontier remembers a run; the store remembers forever. */
export interface Store {
  /** Where the rows are, for people: a path, or a URL without the password. */
  readonly location: string
  /**
   * Makes a pending row for each image that has none and answers what is known of every one, by URL.
   * A URL that is there already is left as it is.
   */
  found(items: readonly Item[], site: string): Promise<ReadonlyMap<string, KnownImage>>
  /** What is known of these image URLs. */
  known(urls: readonly string[]): Promise<ReadonlyMap<string, KnownImage>>
  /** Commits the row of an item that pipelines have passed, together with those that come within milliseconds. Saving twice changes nothing. */
  save(item: FetchedItem): Promise<Stored>
  /** Remembers that an image was looked at and not kept, and why. */
  refuse(refusal: Refusal): Promise<void>
  /** The kept image with the same bytes. */
  sameBytes(sha256: string): Promise<KeptImage | undefined>
  /** The nearest kept image within `distance` bits of the hash that the settings name; flat pictures are never among them. */
  similar(hash: string, distance: number): Promise<KeptImage | undefined>
  /** Files that no kept row points to any more, left by a replacement that was interrupted: to be deleted, then forgotten. */
  abandoned(): Promise<readonly { readonly id: number; readonly key: string }[]>
  forgetFile(id: number): Promise<void>
  /** Counts by status and reason, of one site or of all. */
  counts(site?: string): Promise<readonly StatusCount[]>
  close(): Promise<void>
}
