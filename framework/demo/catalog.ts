/*
 * How the demo site is laid out. Pages are on the host `gallery`:
 *
 *   /                            a.album → albums, a.photo → some photographs
 *   /albums/<slug>/              20 photographs on three pages: a.photo, a.next → ?page=2&size=8, ?page=3&size=8
 *   /photos/<slug>-<nn>.html     h1 title, img.full, figcaption; a.photo → neighbours, a.album → its album
 *   /wallpapers/ /prints/ /~ada/ /café/                     the same pictures larger, smaller, marked, in other formats
 *   /journal/ /press/ /about/                               windows-1252; srcset, picture and lazy images; odd spellings
 *   /archive/ /workshop/ /long-exposures/ /rush-hour/       redirects, missing pages, broken, slow and refused images
 *   /private/                                               forbidden by robots.txt
 *
 * Photographs are cdn/photos/<slug>-<nn>.jpg. Three albums show cdn/thumbs/<slug>-<nn>.jpg on their pages, the others the
 * photographs themselves. Every page has /icon.png and /pixel.gif, which are too small to keep.
 */
import { type Album, createAlbums, type Photo } from './albums.ts'
import { addArticles } from './articles.ts'
import { addCopies } from './copies.ts'
import type { DemoExpectation } from './expectation.ts'
import { escapeHtml, renderGrid, renderImage, renderPage, stylesheet } from './pages.ts'
import { type ShownImage, SitePlan } from './plan.ts'
import type { Origins, Resource } from './resource.ts'
import { addTraps } from './traps.ts'

export interface Catalog {
  /** By `resourceKey`. */
  readonly resources: ReadonlyMap<string, Resource>
  readonly expected: DemoExpectation
}

const photosPerPage = 8

/** The whole demo site. `seed` changes titles and the order of everything, not the pictures. Default 1. */
export function buildCatalog(origins: Origins, seed = 1): Catalog {
  const plan = new SitePlan(origins, seed)
  const albums = createAlbums(seed)
  addFurniture(plan)
  const covers = albums.map((album) => addAlbum(plan, album))
  addHome(plan, albums, covers)
  addCopies(plan)
  addArticles(plan)
  addTraps(plan)
  return { resources: plan.resources, expected: plan.expectation() }
}

function addFurniture(plan: SitePlan): void {
  const pixel = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
  const url = plan.url('gallery', '/pixel.gif')
  plan.answer({ url, status: 200, body: { kind: 'bytes', base64: pixel, contentType: 'image/gif' } })
  plan.declare({ url, alt: '', pixels: 1, bytes: pixel, fate: { status: 'dropped', reason: 'too small' } })
  plan.addPicture('gallery', '/icon.png', {
    picture: { scene: 'balloons', seed: 1, aspect: 1 }, edition: { width: 48, format: 'png' }, alt: '',
    fate: { status: 'dropped', reason: 'too small' },
  })
  plan.addText(plan.url('gallery', '/style.css'), stylesheet, 'text/css; charset=utf-8')
}

interface ShownPhoto {
  readonly photo: Photo
  readonly full: ShownImage
  readonly small: ShownImage
  readonly href: string
}

/** Answers what the home page shows of it. */
function addAlbum(plan: SitePlan, album: Album): ShownPhoto[] {
  const shown = album.photos.map((photo): ShownPhoto => {
    const common = { picture: photo.picture, alt: photo.title, group: photo.id }
    const full = plan.addPicture('cdn', `/photos/${photo.id}.jpg`, { ...common, edition: photo.edition })
    const small = album.thumbnails
      ? plan.addPicture('cdn', `/thumbs/${photo.id}.jpg`, { ...common, edition: { width: 240, format: 'jpeg' } })
      : full
    return { photo, full, small, href: `/photos/${photo.id}.html` }
  })
  const pages = Math.ceil(shown.length / photosPerPage)
  for (let page = 1; page <= pages; page++) addAlbumPage(plan, album, shown, page, pages)
  shown.forEach((photo, index) => addPhotoPage(plan, album, photo, shown[index - 1], shown[index + 1]))
  return shown.slice(0, 2)
}

function addAlbumPage(plan: SitePlan, album: Album, shown: readonly ShownPhoto[], page: number, pages: number): void {
  const path = `/albums/${album.slug}/`
  const photos = shown.slice((page - 1) * photosPerPage, page * photosPerPage)
  const others = Array.from({ length: pages }, (_, index) => index + 1).filter((other) => other !== page)
  const numbers = others.map((other) => {
    const query = other === 1 ? '' : `?size=${photosPerPage}&amp;page=${other}`
    return `<a href="${path}${query}">${other}</a>`
  })
  const next = page < pages ? `<a class="next" href="${path}?page=${page + 1}&amp;size=${photosPerPage}">Next</a>` : ''
  const cells = photos.map(({ photo, small, href }) => ({ href, image: small, caption: photo.title }))
  const body = `<h1>${escapeHtml(album.title)}</h1>
<p>${escapeHtml(album.about)}</p>
${renderGrid('photo', cells)}
<nav class="pager">${[...numbers, next].join(' ')}</nav>`
  const target = page === 1 ? path : `${path}?page=${page}&size=${photosPerPage}`
  if (page > 1) plan.requestedOnce.push(plan.url('gallery', target))
  const title = page === 1 ? album.title : `${album.title}, page ${page}`
  plan.addPage(target, renderPage({ title, body }), { encoding: 'gzip' })
}

function addPhotoPage(plan: SitePlan, album: Album, shown: ShownPhoto, previous?: ShownPhoto, next?: ShownPhoto): void {
  const { photo, full, href } = shown
  const links = [
    previous === undefined ? '' : `<a class="photo" rel="prev" href="${previous.href}">${escapeHtml(previous.photo.title)}</a>`,
    `<a class="album" href="/albums/${album.slug}/">${escapeHtml(album.title)}</a>`,
    next === undefined ? '' : `<a class="photo" rel="next" href="${next.href}">${escapeHtml(next.photo.title)}</a>`,
  ]
  const body = `<h1>${escapeHtml(photo.title)}</h1>
<figure>
${renderImage(full, { className: 'full' })}
<figcaption>${escapeHtml(album.title)}, number ${photo.number}</figcaption>
</figure>
<nav class="pager">${links.filter((link) => link !== '').join(' ')}</nav>`
  plan.addPage(href, renderPage({ title: photo.title, body }))
}

function addHome(plan: SitePlan, albums: readonly Album[], covers: readonly ShownPhoto[][]): void {
  const albumCells = albums.map((album, index) => ({
    href: `/albums/${album.slug}/`, image: covers[index]![0]!.small, caption: `${album.title}: ${album.about}`,
  }))
  const photoCells = covers.slice(0, 4).map((photos) => ({
    href: photos[1]!.href, image: photos[1]!.small, caption: photos[1]!.photo.title,
  }))
  const body = `<h1>Albums</h1>
<p>A small gallery to try a crawler on: ${albums.length} albums, some surprises.</p>
${renderGrid('album', albumCells)}
<h1>New</h1>
${renderGrid('photo', photoCells)}
<p><a href="/workshop/">Workshop</a> · <a href="/long-exposures/">Long exposures</a> · <a href="/rush-hour/">Rush hour</a> ·
<a href="/press/">Press</a> · <a href="/~ada/">Ada’s portfolio</a> · <a href="/caf%C3%A9/">Café</a></p>`
  plan.addPage('/', renderPage({ title: 'Albums', body }), { encoding: 'gzip' })
}
