import { createPhoto } from './albums.ts'
import type { ImageReason } from './expectation.ts'
import { renderArticle, renderFigures, renderPage } from './pages.ts'
import type { PlannedPicture, ShownImage, SitePlan } from './plan.ts'
import type { Host } from './resource.ts'

/** What goes wrong on the web: redirects, missing and broken files, rules, slow and busy hosts. */
export function addTraps(plan: SitePlan): void {
  addRobots(plan)
  addArchive(plan)
  addWorkshop(plan)
  addSlowHost(plan)
  addBusyHost(plan)
}

/** The host `slow` has no robots.txt: everything is allowed there. */
function addRobots(plan: SitePlan): void {
  const rules: Partial<Record<Host, string>> = {
    gallery: 'User-agent: greedybot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n',
    cdn: '# Full-size originals are for customers.\nUser-agent: *\nDisallow: /originals/\n',
    busy: 'User-agent: *\nDisallow:\n',
  }
  for (const [host, text] of Object.entries(rules) as [Host, string][]) {
    plan.addText(plan.url(host, '/robots.txt'), text, 'text/plain; charset=utf-8')
  }
  const page = plan.url('gallery', '/private/')
  const drafts = plan.url('gallery', '/private/drafts.html')
  plan.addHtml(page, renderPage({ title: 'Private', body: '<h1>Private</h1><p><a href="drafts.html">Drafts</a></p>' }))
  plan.addHtml(drafts, renderPage({ title: 'Drafts', body: '<h1>Drafts</h1><img src="draft.jpg" alt="Draft">' }))
  plan.failedPages.push({ url: page, reason: 'robots' })
  plan.neverRequested.push(page, drafts)
}

/** Longer than any crawler follows. */
const farHops = 25

function addArchive(plan: SitePlan): void {
  plan.redirect('gallery', '/old/lakes.html', '/albums/lakes/', 301)
  plan.redirect('gallery', '/old/history.html', '/old/story.html', 301)
  plan.redirect('gallery', '/old/story.html', 'past.html', 302)
  plan.redirect('gallery', '/old/past.html', plan.url('gallery', '/about/history/'), 301)
  plan.addPage('/about/history/', renderArticle('History', ['Where this page is has changed three times.'], []))
  addRedirectLoop(plan, '/loop/here', '/loop/there')
  addRedirectLoop(plan, '/go/round.jpg', '/go/and-round.jpg')
  for (let hop = 0; hop < farHops; hop++) {
    plan.redirect('gallery', `/far/${hop}`, `/far/${hop + 1}`, 302)
    plan.redirect('gallery', `/go/far/${hop}.jpg`, `/go/far/${hop + 1}.jpg`, 302)
  }
  plan.failedPages.push(
    { url: plan.url('gallery', '/missing/page.html'), reason: 'http 404' },
    { url: plan.url('gallery', '/gone/page.html'), reason: 'http 404' },
    { url: plan.url('gallery', '/loop/here'), reason: 'redirect loop' },
    { url: plan.url('gallery', '/far/0'), reason: 'too many redirects' },
  )
  const first = plannedExtra(plan, 'bokeh', 22)
  addTarget(plan, '/stock/first.jpg', first)
  plan.redirect('gallery', '/go/first.jpg', plan.url('cdn', '/stock/first.jpg'), 302)
  const original = plannedExtra(plan, 'agates', 22)
  addTarget(plan, '/originals/agate.jpg', original)
  plan.redirect('gallery', '/go/original.jpg', plan.url('cdn', '/originals/agate.jpg'), 302)
  plan.neverRequested.push(plan.url('cdn', '/originals/agate.jpg'))
  const images = [
    plan.expect(plan.url('gallery', '/go/first.jpg'), first),
    plan.expect(plan.url('gallery', '/go/original.jpg'), { ...original, fate: { status: 'dropped', reason: 'robots' } }),
    plan.expect(plan.url('gallery', '/go/round.jpg'), failing(plan, 'Round', 'redirect loop')),
    plan.expect(plan.url('gallery', '/go/far/0.jpg'), failing(plan, 'Far', 'too many redirects')),
  ]
  const links = [
    '/old/lakes.html', '/old/history.html', '/loop/here', '/far/0', '/missing/page.html', '/gone/page.html', '/private/',
  ]
  const list = links.map((href) => `<a href="${href}">${href}</a>`).join(' · ')
  plan.addPage('/archive/', renderArticle('Archive', ['Where things used to be.', list], renderFigures(images)))
}

function addRedirectLoop(plan: SitePlan, here: string, there: string): void {
  plan.redirect('gallery', here, there, 302)
  plan.redirect('gallery', there, here, 302)
}

function addWorkshop(plan: SitePlan): void {
  const missing = [1, 2, 3].map((number) =>
    plan.expect(plan.url('cdn', `/photos/lost-${number}.jpg`), failing(plan, `Lost ${number}`, 'http 404')))
  const truncated = plan.addPicture('cdn', '/workshop/torn.jpg', {
    ...plannedExtra(plan, 'coast', 23), fate: { status: 'failed', reason: 'truncated' },
  }, { share: 0.6 })
  const recovering = plan.addPicture('cdn', '/workshop/second-try.jpg', plannedExtra(plan, 'desert', 23), {
    refusal: { name: 'second try', times: 1, status: 500 },
  })
  const forbidden: [Host, string, PlannedPicture][] = [
    ['cdn', '/originals/leaves.jpg', plannedExtra(plan, 'leaves', 22)],
    ['cdn', '/originals/mountains.jpg', plannedExtra(plan, 'mountains', 23)],
    ['gallery', '/private/draft.jpg', plannedExtra(plan, 'lakes', 23)],
  ]
  const refused = forbidden.map(([host, path, planned]) =>
    plan.addPicture(host, path, { ...planned, fate: { status: 'dropped', reason: 'robots' } }))
  plan.neverRequested.push(...refused.map(({ url }) => url))
  const images = [
    ...missing, truncated, recovering, ...refused,
    addFakeJpeg(plan, '/workshop/empty.jpg', 'Empty', '', 'empty'),
    addFakeJpeg(plan, '/workshop/sign-in.jpg', 'Sign in', renderArticle('Please sign in', [], []), 'not an image'),
  ]
  plan.addPage('/workshop/', renderArticle('Workshop', ['Not everything here can be shown.'], renderFigures(images)))
}

/** A file that says it is a JPEG and holds this text. */
function addFakeJpeg(plan: SitePlan, path: string, alt: string, text: string, reason: ImageReason): ShownImage {
  const url = plan.url('cdn', path)
  plan.addText(url, text, 'image/jpeg')
  return plan.expect(url, failing(plan, alt, reason))
}

const slowMs = 300

function addSlowHost(plan: SitePlan): void {
  const albums = ['mountains', 'lakes', 'coast', 'desert', 'forest', 'meadows']
  const images = albums.map((album) =>
    plan.addPicture('slow', `/exposures/${album}.jpg`, plannedExtra(plan, album, 21), { delayMs: slowMs }))
  const html = renderArticle('Long exposures', ['These take their time.'], renderFigures(images))
  plan.addPage('/long-exposures/', html, { delayMs: slowMs })
}

function addBusyHost(plan: SitePlan): void {
  const albums = ['balloons', 'city', 'night', 'bokeh', 'agates', 'leaves']
  const refusal = { name: 'busy', times: 4, status: 429, retryAfterSeconds: 1 } as const
  const images = albums.map((album) => plan.addPicture('busy', `/rush/${album}.jpg`, plannedExtra(plan, album, 21), { refusal }))
  plan.addPage('/rush-hour/', renderArticle('Rush hour', ['The first to come are asked to come again.'], renderFigures(images)))
}

/** A photograph that is in no album. */
function plannedExtra(plan: SitePlan, album: string, number: number): PlannedPicture {
  const { picture, edition, title } = createPhoto(album, number, plan.seed)
  return { picture, edition, alt: title }
}

function failing(plan: SitePlan, alt: string, reason: ImageReason): PlannedPicture {
  return { ...plannedExtra(plan, 'mountains', 24), alt, fate: { status: 'failed', reason } }
}

/** A file that no page names: it is only redirected to. */
function addTarget(plan: SitePlan, path: string, { picture, edition }: PlannedPicture): void {
  plan.answer({ url: plan.url('cdn', path), status: 200, body: { kind: 'picture', picture, edition } })
}
