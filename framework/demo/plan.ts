import {
  countStatuses, type DeclaredImage, type DemoExpectation, expectImage, type FailedPage, gatherGroups,
} from './expectation.ts'
import type { Edition, Picture } from './pictures.ts'
import { type Body, type Charset, type ContentEncoding, type Host, type Origins, type Resource, resourceKey } from './resource.ts'

/** What a page needs to show an image. */
export interface ShownImage {
  readonly url: string
  readonly alt: string
  readonly width: number
  readonly height: number
}

export interface PlannedPicture {
  readonly picture: Picture
  readonly edition: Edition
  readonly alt: string
  /** Default: kept. */
  readonly fate?: DeclaredImage['fate']
  readonly group?: string
  readonly optional?: boolean
}

type PageOptions = Pick<Resource, 'delayMs'> & { readonly charset?: Charset; readonly encoding?: ContentEncoding }

type PictureOptions = Pick<Resource, 'delayMs' | 'refusal'> & { readonly share?: number }

/** Collects what the site answers and, in the same breath, what a crawl must make of it. */
export class SitePlan {
  readonly seed: number
  readonly origins: Origins
  readonly resources = new Map<string, Resource>()
  readonly failedPages: FailedPage[] = []
  readonly reviews: [string, string][] = []
  readonly neverRequested: string[] = []
  readonly requestedOnce: string[] = []
  readonly offsite: string[] = []
  readonly #pages: string[] = []
  readonly #images = new Map<string, DeclaredImage>()

  constructor(origins: Origins, seed: number) {
    this.origins = origins
    this.seed = seed
  }

  url(host: Host, path: string): string {
    return new URL(path, this.origins[host]).href
  }

  /** A page of the gallery that a crawl finds and reads. */
  addPage(path: string, html: string, options: PageOptions = {}): void {
    const url = this.url('gallery', path)
    this.#pages.push(url)
    this.addHtml(url, html, options)
  }

  /** A page, whether or not a crawl gets to read it. */
  addHtml(url: string, html: string, { charset = 'utf-8', encoding, delayMs }: PageOptions = {}): void {
    const body: Body = { kind: 'html', html, charset, ...(encoding === undefined ? {} : { encoding }) }
    this.answer({ url, status: 200, body, ...(delayMs === undefined ? {} : { delayMs }) })
  }

  addPicture(host: Host, path: string, planned: PlannedPicture, options: PictureOptions = {}): ShownImage {
    const { picture, edition } = planned
    const { share, ...rest } = options
    const url = this.url(host, path)
    const body: Body = { kind: 'picture', picture, edition, ...(share === undefined ? {} : { share }) }
    this.answer({ url, status: 200, body, ...rest })
    return this.expect(url, planned)
  }

  /** An image that is found on pages but isn't answered with a picture of its own: a redirect, a failure. */
  expect(url: string, { picture, edition, alt, fate = 'kept', group, optional }: PlannedPicture): ShownImage {
    const height = Math.round(edition.width / picture.aspect)
    this.declare({
      url, alt, fate, pixels: edition.width * height, bytes: JSON.stringify([picture, edition]),
      ...(group === undefined ? {} : { group }), ...(optional === undefined ? {} : { optional }),
    })
    return { url, alt, width: edition.width, height }
  }

  declare(image: DeclaredImage): void {
    this.#images.set(image.url, image)
  }

  addText(url: string, text: string, contentType: string): void {
    this.answer({ url, status: 200, body: { kind: 'text', text, contentType } })
  }

  redirect(host: Host, path: string, location: string, status: 301 | 302): void {
    const body: Body = { kind: 'text', text: '', contentType: 'text/plain' }
    this.answer({ url: this.url(host, path), status, location, body })
  }

  answer(resource: Resource): void {
    const key = resourceKey(resource.url)
    if (this.resources.has(key)) throw new Error(`The demo site has two answers for ${key}.`)
    this.resources.set(key, resource)
  }

  expectation(): DemoExpectation {
    const declared = [...this.#images.values()]
    const groups = gatherGroups(declared)
    const images = declared.map((image) => expectImage(image, groups))
    const { failedPages, reviews, neverRequested, requestedOnce, offsite } = this
    const totals = countStatuses(images)
    return { pages: this.#pages, failedPages, images, groups, reviews, totals, neverRequested, requestedOnce, offsite }
  }
}
