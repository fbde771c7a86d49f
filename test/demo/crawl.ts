import * as cheerio from 'cheerio'
import iconv from 'iconv-lite'
import robots, { type Robot } from 'robots-parser'
import { canonicalizeUrl } from '../../framework/http/url.ts'

export interface Found {
  /** Pages that answered 200, by canonical URL, redirects followed. */
  readonly pages: Set<string>
  /** URLs of links that led nowhere: what happened instead. */
  readonly failedPages: Map<string, string>
  /** Alternative texts by canonical URL: every candidate of every image. */
  readonly images: Map<string, Set<string>>
  /** How many spellings each canonical URL has. */
  readonly spellings: Map<string, Set<string>>
}

const maxRedirects = 5

/** Its types are those of a module with a default export; what is loaded is the function itself. */
const parseRobots = robots as unknown as (url: string, text: string) => Robot

/** A crawl of the demo site in a hundred lines: what it finds is compared with what the site says can be found. */
export async function crawlSite(start: string, origins: readonly string[]): Promise<Found> {
  const allowed = await readRobots(origins)
  const found: Found = { pages: new Set(), failedPages: new Map(), images: new Map(), spellings: new Map() }
  const seen = new Set<string>()
  const queue = [start]
  for (let link = queue.shift(); link !== undefined; link = queue.shift()) {
    const url = canonicalizeUrl(link)
    found.spellings.set(url, (found.spellings.get(url) ?? new Set()).add(link))
    if (seen.has(url) || new URL(url).origin !== new URL(start).origin) continue
    seen.add(url)
    if (!allowed(url)) {
      found.failedPages.set(url, 'robots')
      continue
    }
    const page = await fetchPage(url)
    if (typeof page === 'string') found.failedPages.set(url, page)
    else if (!found.pages.has(page.url)) queue.push(...readPage(found, page.url, page.html))
  }
  return found
}

async function readRobots(origins: readonly string[]): Promise<(url: string) => boolean> {
  const rules = new Map<string, Robot>()
  for (const origin of origins) {
    const response = await fetch(`${origin}/robots.txt`)
    const text = await response.text()
    rules.set(origin, parseRobots(`${origin}/robots.txt`, response.ok ? text : ''))
  }
  return (url) => rules.get(new URL(url).origin)?.isAllowed(url, 'orbweaver') !== false
}

async function fetchPage(start: string): Promise<{ url: string; html: string } | string> {
  const visited = new Set<string>()
  for (let url = start; ; ) {
    if (visited.has(url)) return 'redirect loop'
    if (visited.size > maxRedirects) return 'too many redirects'
    visited.add(url)
    const response = await fetch(url, { redirect: 'manual' })
    const body = Buffer.from(await response.arrayBuffer())
    const location = response.headers.get('location')
    if (location !== null) url = canonicalizeUrl(new URL(location, url))
    else if (!response.ok) return `http ${response.status}`
    else return { url, html: decode(body, response.headers.get('content-type') ?? '') }
  }
}

function decode(body: Buffer, contentType: string): string {
  const declared = /charset=([\w-]+)/.exec(contentType)?.[1] ?? /<meta charset="([\w-]+)"/.exec(body.toString('latin1'))?.[1]
  return iconv.decode(body, declared ?? 'utf-8')
}

/** Notes the images of a page; answers its links. */
function readPage(found: Found, url: string, html: string): string[] {
  found.pages.add(url)
  const $ = cheerio.load(html)
  const resolve = (link: string): string[] => {
    const { protocol, href } = new URL(link, url)
    return protocol.startsWith('http') ? [href] : []
  }
  for (const element of $('img, source').toArray()) {
    const { src, srcset, 'data-src': lazy, 'data-srcset': lazySet, alt } = element.attribs
    const sets = [srcset, lazySet].flatMap((set) => set?.split(',').map((entry) => entry.trim().split(' ')[0]) ?? [])
    for (const link of [src, lazy, ...sets].flatMap((candidate) => (candidate === undefined ? [] : resolve(candidate)))) {
      const image = canonicalizeUrl(link)
      found.spellings.set(image, (found.spellings.get(image) ?? new Set()).add(link))
      const alts = found.images.get(image) ?? new Set()
      found.images.set(image, alts.add(alt ?? $(element).siblings('img').attr('alt') ?? ''))
    }
  }
  return $('a[href]').toArray().flatMap((element) => resolve(element.attribs['href'] ?? ''))
}
