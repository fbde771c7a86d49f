import type { ServerResponse } from 'node:http'
import { serve, type Site } from '../../cli/site.ts'
import { picture } from '../../engine/crawl-site.ts'

export interface CrashSiteOptions {
  /** Pages of the tree, without those that something is wrong with. */
  readonly pages: number
  /** Different pictures of the tree. */
  readonly images: number
}

/** A site with some of everything that can happen to a page or an image. What a crawl makes of it doesn't depend on the order. */
export interface CrashSite extends Site {
  /** Every path that a crawl has to ask for at least once. */
  readonly paths: readonly string[]
  /** Requests that have come and answers that have gone, so far. */
  readonly steps: number
  /** Resolves with the step of this number. */
  reach(step: number): Promise<void>
  /** True when every one of `paths` has been asked for. */
  isAllAsked(): boolean
  /** Resolves when every one of `paths` has been asked for. */
  allAsked(): Promise<void>
  /** Answers nothing until the function that it answers is called. */
  hold(): () => void
}

/** What an address answers: a page, an image, or something else. */
type Resource =
  | { readonly kind: 'page'; readonly html: string }
  | { readonly kind: 'image'; readonly bytes: Buffer }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'status'; readonly status: number }
  /** 503 the first time, then that. */
  | { readonly kind: 'flaky'; readonly later: Resource }

/** Of each kind of page and image that something is wrong with. */
const oddities = 8
const branches = 8
const imagesPerPage = 3

/** Names the picture at `path`: addresses of one name show the same picture, of which one is kept. */
export function pictureAt(path: string): string {
  return path.replace(/^\/(copy|large)\//, '/i/')
}

/** Paints what sites of this size show. Takes a while, so it is done once for all of them. */
export async function planCrashSite({ pages, images }: CrashSiteOptions): Promise<ReadonlyMap<string, Resource>> {
  const resources = new Map<string, Resource>()
  const image = (path: string, bytes: Buffer) => resources.set(path, { kind: 'image', bytes })
  for (let number = 0; number < images; number++) {
    image(`/i/${number}.jpg`, await picture(number, { width: 160, height: 120 }))
    if (number % 5 === 0) image(`/copy/${number}.jpg`, await picture(number, { width: 160, height: 120 }))
    if (number % 7 === 3) image(`/large/${number}.jpg`, await picture(number, { width: 320, height: 240 }))
  }
  for (let number = 0; number < oddities; number++) {
    const own = await picture(10_000 + number, { width: 160, height: 120 })
    resources.set(`/missing/${number}.jpg`, { kind: 'status', status: 404 })
    resources.set(`/text/${number}.jpg`, { kind: 'page', html: '<p>no picture' })
    resources.set(`/flaky/${number}.jpg`, { kind: 'flaky', later: { kind: 'image', bytes: own } })
    resources.set(`/hop/${number}.jpg`, { kind: 'redirect', to: `/hopped/${number}.jpg` })
    image(`/cut/${number}.jpg`, own.subarray(0, own.length / 2))
    image(`/small/${number}.jpg`, await picture(number, { width: 40, height: 30 }))
    image(`/hopped/${number}.jpg`, await picture(20_000 + number, { width: 160, height: 120 }))
    image(`/fallback/${number}.jpg`, await picture(30_000 + number, { width: 160, height: 120 }))
    resources.set(`/fallback/${number}-large.jpg`, { kind: 'status', status: 404 })
    resources.set(`/missing/${number}`, { kind: 'status', status: 404 })
    resources.set(`/broken/${number}`, { kind: 'status', status: 500 })
    resources.set(`/flaky/${number}`, { kind: 'flaky', later: { kind: 'page', html: '<p>at last' } })
    // Two ways to a page that nothing else leads to: whichever comes second is ignored.
    resources.set(`/old/${number}`, { kind: 'redirect', to: `/moved/${number}` })
    resources.set(`/older/${number}`, { kind: 'redirect', to: `/moved/${number}` })
    resources.set(`/moved/${number}`, { kind: 'page', html: `<a href="/beyond/${number}">beyond</a>` })
    resources.set(`/beyond/${number}`, { kind: 'page', html: '<p>the end' })
  }
  for (let number = 0; number < pages; number++) resources.set(pagePath(number), { kind: 'page', html: renderPage(number, pages, images) })
  return resources
}

const pagePath = (number: number): string => (number === 0 ? '/' : `/p/${number}`)
const link = (path: string): string => `<a href="${path}">${path}</a>`
const show = (path: string): string => `<img src="${path}" alt="${path}">`

function renderPage(number: number, pages: number, images: number): string {
  const parts: string[] = []
  for (let child = number * branches + 1; child <= number * branches + branches && child < pages; child++) parts.push(link(pagePath(child)))
  for (const known of [0, number >> 1, (number * 7) % pages]) parts.push(link(pagePath(known)))
  for (let index = 0; index < imagesPerPage; index++) {
    const shown = (number * imagesPerPage + index) % images
    parts.push(show(`/i/${shown}.jpg`))
    if (shown % 5 === 0) parts.push(show(`/copy/${shown}.jpg`))
    if (shown % 7 === 3) parts.push(show(`/large/${shown}.jpg`))
  }
  // The odd ones are found at different times, each from one page of the tree.
  const odd = number % 9 === 4 ? (number - 4) / 9 : oddities
  if (odd < oddities) {
    for (const name of ['missing', 'broken', 'flaky', 'old', 'older', 'private']) parts.push(link(`/${name}/${odd}`))
    for (const name of ['missing', 'text', 'flaky', 'hop', 'cut', 'small', 'private']) parts.push(show(`/${name}/${odd}.jpg`))
    parts.push(`<img src="/fallback/${odd}.jpg" srcset="/fallback/${odd}-large.jpg 2x" alt="/fallback/${odd}-large.jpg">`)
  }
  return `<!doctype html><title>Page ${number}</title>${parts.join('\n')}`
}

/** Serves a plan on loopback. Each site has seen nothing yet: what is flaky fails once in each. */
export async function serveCrashSite(resources: ReadonlyMap<string, Resource>): Promise<CrashSite> {
  const unasked = new Set(resources.keys())
  const waiting = new Map<number, () => void>()
  const answered = new Set<string>()
  let steps = 0
  let askedAll = (): void => {}
  const allAsked = new Promise<void>((resolve) => (askedAll = resolve))
  const step = (): void => {
    steps++
    waiting.get(steps)?.()
    waiting.delete(steps)
  }
  let held = Promise.resolve()
  const site = await serve(({ url = '' }, response) => {
    step()
    if (unasked.delete(url) && unasked.size === 0) askedAll()
    response.once('close', step)
    void held.then(() => answer(url, response))
  })
  const answer = (url: string, response: ServerResponse): void => {
    if (url === '/robots.txt') return void response.end('User-agent: *\nDisallow: /private/\n')
    let resource = resources.get(url) ?? { kind: 'status', status: 404 }
    if (resource.kind === 'flaky') resource = answered.has(url) ? resource.later : { kind: 'status', status: 503 }
    answered.add(url)
    if (resource.kind === 'page') response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(resource.html)
    else if (resource.kind === 'image') response.writeHead(200, { 'content-type': 'image/jpeg', 'content-length': resource.bytes.length }).end(resource.bytes)
    else if (resource.kind === 'redirect') response.writeHead(302, { location: resource.to }).end()
    else if (resource.kind === 'status') response.writeHead(resource.status).end()
  }
  return {
    ...site,
    paths: [...resources.keys()],
    get steps() {
      return steps
    },
    reach: (number) => (steps >= number ? Promise.resolve() : new Promise((resolve) => waiting.set(number, resolve))),
    isAllAsked: () => unasked.size === 0,
    allAsked: () => allAsked,
    hold() {
      let release = (): void => {}
      held = new Promise((resolve) => (release = resolve))
      return release
    },
  }
}
