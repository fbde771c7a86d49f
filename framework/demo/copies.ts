import { createPhoto } from './albums.ts'
import { renderArticle, renderFigure, renderFigures } from './pages.ts'
import type { Edition } from './pictures.ts'
import type { ShownImage, SitePlan } from './plan.ts'
import type { Host } from './resource.ts'

/** Pages that show pictures of the albums once more: larger, smaller, marked, in other formats, or the same bytes. */
export function addCopies(plan: SitePlan): void {
  addWallpapers(plan)
  addPrints(plan)
  addPortfolio(plan)
  addCafe(plan)
}

function addWallpapers(plan: SitePlan): void {
  const photos = ['mountains-03', 'coast-05', 'desert-07', 'night-02', 'meadows-04', 'balloons-06', 'lakes-01']
  const enlarge: Change = ({ width }) => ({ width: width * 1.5, format: 'jpeg' })
  const figures = photos.map((id) => renderFigure(addCopy(plan, id, `/wallpapers/${id}.jpg`, enlarge)))
  plan.addPage('/wallpapers/', renderArticle('Wallpapers', ['Half as wide again as in the albums.'], figures), { encoding: 'br' })
}

function addPrints(plan: SitePlan): void {
  const sections: readonly [photos: readonly string[], path: (id: string) => string, change: Change][] = [
    [['mountains-05', 'forest-03', 'agates-02', 'night-05', 'bokeh-04', 'desert-02', 'lakes-01'],
      (id) => `/prints/${id}.jpg`, (edition) => ({ ...edition, quality: 35 })],
    [['coast-02', 'meadows-09', 'forest-08', 'balloons-02', 'mountains-11', 'agates-10'],
      (id) => `/watermarked/${id}.jpg`, (edition) => ({ ...edition, watermark: true })],
    [['desert-11', 'forest-12', 'bokeh-07', 'night-09', 'lakes-01'],
      (id) => `/photos/${id}.webp`, (edition) => ({ ...edition, format: 'webp' })],
    [['agates-05', 'meadows-12'], (id) => `/photos/${id}.png`, (edition) => ({ ...edition, format: 'png' })],
    [['coast-09', 'balloons-10', 'bokeh-11', 'mountains-15', 'lakes-01'],
      (id) => `/small/${id}.jpg`, ({ width }) => ({ width: width / 2, format: 'jpeg' })],
  ]
  const images = sections.flatMap(([photos, path, change]) => photos.map((id) => addCopy(plan, id, path(id), change)))
  const html = renderArticle('Prints', ['The same pictures, as they are sent to print shops.'], renderFigures(images))
  plan.addPage('/prints/', html, { encoding: 'br' })
}

function addPortfolio(plan: SitePlan): void {
  const forest = addCopy(plan, 'forest-05', '/~ada/forest.jpg', same)
  const figures = [
    renderFigure(forest, 'My forest'),
    renderFigure(forest, 'My forest, since I like it so', plan.url('cdn', '/%7Eada/forest.jpg')),
    renderFigure(addCopy(plan, 'night-12', '/uploads/night.jpg', same, 'gallery'), 'Polar night'),
    renderFigure(addCopy(plan, 'coast-12', '/photos/coast-12.jpg?v=2', same)),
  ]
  const links = '<a href="/%7eada/#contact">Contact</a> · <a href="/%7Eada/">Portfolio</a>'
  plan.requestedOnce.push(plan.url('gallery', '/~ada/'), forest.url)
  const html = renderArticle('Ada’s portfolio', ['My best three, uploaded once more.', links], figures)
  plan.addPage('/~ada/', html, { encoding: 'br' })
}

/** Two pictures so alike that somebody should look at them. */
function addCafe(plan: SitePlan): void {
  const photo = createPhoto('agates', 23, plan.seed)
  const whole = plan.addPicture('cdn', '/café/wall.jpg', { picture: photo.picture, edition: photo.edition, alt: photo.title })
  const framed = plan.addPicture('cdn', '/café/framed.jpg', {
    picture: photo.picture, edition: { ...photo.edition, crop: 0.03 }, alt: `${photo.title}, framed`,
  })
  plan.reviews.push([whole.url, framed.url])
  plan.requestedOnce.push(plan.url('gallery', '/café/'), whole.url)
  const links = '<a href="/caf%c3%a9/">Today</a> · <a href="/café/#menu">Menu</a>'
  const wall = plan.url('cdn', '/caf%c3%a9/wall.jpg').replace('http:', '')
  const figures = [renderFigure(whole), renderFigure(framed), renderFigure(whole, 'Above the stove', wall)]
  const html = renderArticle('Café', ['What hangs on the wall, without and with its frame.', links], figures)
  plan.addPage('/café/', html, { encoding: 'br' })
}

type Change = (edition: Edition) => Edition

const same: Change = (edition) => edition

function addCopy(plan: SitePlan, id: string, path: string, change: Change, host: Host = 'cdn'): ShownImage {
  const [album = '', number = ''] = id.split('-')
  const photo = createPhoto(album, Number(number), plan.seed)
  return plan.addPicture(host, path, { picture: photo.picture, edition: change(photo.edition), alt: photo.title, group: id })
}
