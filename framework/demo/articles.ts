import { createPhoto } from './albums.ts'
import { escapeHtml, renderArticle, renderFigure, renderPage } from './pages.ts'
import type { ShownImage, SitePlan } from './plan.ts'

/** Pages whose markup asks something of whoever reads it. */
export function addArticles(plan: SitePlan): void {
  addJournal(plan)
  addPress(plan)
  addAbout(plan)
}

/** The page's encoding is said in its head alone. */
function addJournal(plan: SitePlan): void {
  const entries: readonly [album: string, name: string, alt: string][] = [
    ['coast', 'plage', 'À la plage – près d’Étretat'],
    ['desert', 'wueste', 'Wüste „Große Leere“, früh um fünf'],
    ['forest', 'granskog', 'Granskog på Åland, 3 € inträde'],
  ]
  const figures = entries.map(([album, name, alt]) => {
    const { picture, edition } = createPhoto(album, 22, plan.seed)
    return renderFigure(plan.addPicture('cdn', `/journal/${name}.jpg`, { picture, edition, alt }))
  })
  const body = `<h1>Journal</h1>
<p>Notes “on the road”, written on an old computer.</p>
<div class="grid">
${figures.join('\n')}
</div>`
  plan.addPage('/journal/', renderPage({ title: 'Journal', body, charset: 'windows-1252' }), { charset: 'windows-1252' })
}

/** Images with several candidates, of which the best is wanted, and images that scripts would load later. */
function addPress(plan: SitePlan): void {
  const blank = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
  const meadow = candidates(plan, 'meadows', ['jpeg', 'jpeg'])
  const balloon = candidates(plan, 'balloons', ['jpeg', 'webp', 'webp'])
  const city = candidates(plan, 'city', ['jpeg', 'jpeg'])
  const { picture, edition } = createPhoto('night', 22, plan.seed)
  const night = plan.addPicture('cdn', '/press/night.jpg', { picture, edition, alt: 'For the press: night' })
  const alt = (image: ShownImage) => `alt="${escapeHtml(image.alt)}"`
  const body = `<h1>Press</h1>
<div class="grid">
<figure>
<img src="${meadow[0].url}" srcset="${meadow[0].url} 480w, ${meadow[1].url} 1200w" sizes="30vw" ${alt(meadow[0])}>
</figure>
<figure><picture>
<source type="image/webp" srcset="${balloon[1].url} 480w, ${balloon[2]!.url} 1200w">
<img src="${balloon[0].url}" ${alt(balloon[0])}>
</picture></figure>
<figure><img src="${blank}" data-srcset="${city[0].url} 1x, ${city[1].url} 2.5x" class="lazy" ${alt(city[0])}></figure>
<figure><img src="${blank}" data-src="${night.url}" class="lazy" loading="lazy" ${alt(night)}></figure>
</div>`
  plan.addPage('/press/', renderPage({ title: 'Press', body }), { encoding: 'br' })
}

/** The last one is the best: 1200 pixels wide, the others 480. */
function candidates(
  plan: SitePlan, album: string, formats: readonly ('jpeg' | 'webp')[],
): [ShownImage, ShownImage, ...ShownImage[]] {
  const { picture } = createPhoto(album, 22, plan.seed)
  return formats.map((format, index) => {
    const best = index === formats.length - 1
    const width = best ? 1200 : 480
    return plan.addPicture('cdn', `/press/${album}-${width}.${format === 'jpeg' ? 'jpg' : format}`, {
      picture,
      edition: { width, format },
      alt: `For the press: ${album}`,
      group: `press-${album}`,
      ...(best ? {} : { optional: true }),
    })
  }) as [ShownImage, ShownImage, ...ShownImage[]]
}

function addAbout(plan: SitePlan): void {
  const { picture, edition } = createPhoto('forest', 23, plan.seed)
  const studio = plan.addPicture('cdn', '/about/studio.jpg', { picture, edition, alt: 'The studio' })
  plan.requestedOnce.push(studio.url, plan.url('gallery', '/about/'))
  plan.offsite.push('http://offsite.example/gallery/')
  const paragraphs = [
    'Painted Light has no camera: mountains, lakes and leaves are drawn from noise by a few hundred lines of code.',
    `Friends: <a href="${plan.offsite[0]}">another gallery</a>. Write to <a href="mailto:ada@offsite.example">Ada</a>, call
<a href="tel:+1-555-0100">the studio</a>, or <a href="javascript:history.back()">go back</a>.`,
  ]
  const figures = [renderFigure(studio), renderFigure(studio, 'The same studio', plan.url('cdn', '/%61bout/studio.jpg#again'))]
  plan.addPage('/about/', renderArticle('About', paragraphs, figures), { encoding: 'br' })
}
