import type { JsonObject } from './json.ts'

/** An image found on a page, and what the spider knows of it. */
export interface Item<Data extends object = JsonObject> {
  /** Absolute URL of the image. */
  readonly url: string
  /** The page that it was found on. */
  readonly pageUrl: string
  /** Alternative text of the `img`, if there is one. */
  readonly alt?: string
  /** What the spider adds. Stored with the row, so JSON only. */
  readonly data: Data
  /** Tried in order when `url` can't be had, for example the smaller files of a srcset. */
  readonly fallbacks?: readonly string[]
}

/** An item that has its row in the store. */
export interface FoundItem<Data extends object = JsonObject> extends Item<Data> {
  /** Of the row. */
  readonly id: number
  /** When the image was found first, ms since 1970. */
  readonly foundAt: number
  /** The spider that found it first. */
  readonly site: string
}

export type ImageFormat = 'jpeg' | 'png' | 'webp' | 'gif' | 'avif' | 'tiff' | 'svg'

/** What an image looks like, in 64 bits each, as 16 hexadecimal digits. */
export interface PerceptualHashes {
  readonly aHash: string
  readonly dHash: string
  readonly pHash: string
  /** True for pictures with so little texture that a perceptual hash says nothing of them. */
  readonly flat: boolean
}

/** The downloaded bytes, found to be a whole image and measured. */
export interface ImageFile {
  /** The temporary file that holds the bytes as they came. */
  readonly path: string
  /** Bytes. */
  readonly size: number
  /** SHA-256 of the bytes, in 64 hexadecimal digits. */
  readonly sha256: string
  readonly format: ImageFormat
  /** The media type of the format, not what the server said. */
  readonly contentType: string
  /** Pixels, after EXIF orientation. */
  readonly width: number
  /** Pixels, after EXIF orientation. */
  readonly height: number
  /** 1, or more for an animation or a document. */
  readonly frames: number
  /** Small greyscale and colour versions made by the one decode: what hashes are computed from. */
  readonly thumbnail: Thumbnail
}

/** A picture squeezed to 64 × 64 pixels, sRGB over white, three bytes a pixel: what every perceptual hash is made from. */
export interface Thumbnail {
  readonly size: 64
  readonly rgb: Uint8Array
}

/** An item whose image is here: what pipelines work on. Pipelines add to it by passing on a copy. */
export interface FetchedItem<Data extends object = JsonObject> extends FoundItem<Data> {
  /** How often this image has been leased, this time included. */
  readonly attempt: number
  readonly image: ImageFile
  /** Set by the pipeline `hash`. */
  readonly hashes?: PerceptualHashes
  /** Set by the pipeline `dedupe`: the row that this picture is a duplicate of, with the distance in bits (0 also for equal bytes). */
  readonly duplicateOf?: SimilarImage & { readonly exact: boolean }
  /** Set by the pipeline `dedupe`: the nearest kept picture, too far to be dropped, near enough to be looked at. */
  readonly review?: SimilarImage
  /** Set by the pipeline `dedupe`: the kept row that this larger picture takes the place of. */
  readonly replaces?: SimilarImage & { readonly key: string | null }
  /** Set by the pipeline `save`: where the file is, relative to the folder of images. */
  readonly key?: string
}

/** A kept image, and how many bits of the hash differ. */
export interface SimilarImage {
  readonly id: number
  readonly distance: number
}

const brand: unique symbol = Symbol('stored')

/** Proof that an item's row is committed. Only the store makes one, so a pipeline can't forget to pass its item on. */
export interface Stored {
  readonly [brand]: true
  readonly id: number
  readonly status: 'downloaded' | 'duplicate'
}

/** For stores only. */
export function createStored(id: number, status: Stored['status']): Stored {
  return { [brand]: true, id, status }
}

/** True for what `createStored` answered. */
export function isStored(value: unknown): value is Stored {
  return typeof value === 'object' && value !== null && brand in value
}
