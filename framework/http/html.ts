import { Tokenizer, type QuoteType, type TokenizerCallbacks } from 'htmlparser2'

/** Of the different links of a page, so many are taken, first to last. */
export const maxLinks = 50_000
/** Of the pictures of a page, so many are taken, first to last. */
export const maxImages = 20_000
/** Of the addresses that one picture may have, so many are taken. */
export const maxCandidates = 100
/** Characters. Longer URLs in a page are passed over, as servers refuse them. */
export const maxUrlLength = 8_000

/** What one pass over a page's markup finds, as written: nothing is resolved. */
export interface Markup {
  /** `href` of the first `<base>` that has one. */
  readonly base: string | undefined
  /** `href` of every `a` and `area`, each once, at most `maxLinks`. */
  readonly links: readonly string[]
  /** At most `maxImages`. */
  readonly images: readonly ImageMarkup[]
}

/** One picture of a page. */
export interface ImageMarkup {
  /** The best candidate first: the widest of `srcset`, a lazy-load attribute, then `src`. At most `maxCandidates`. */
  readonly candidates: readonly string[]
  readonly alt: string
}

/** One address of a `srcset`. */
export interface SrcsetCandidate {
  readonly url: string
  /** Its width or density; 1 when it has none. */
  readonly size: number
}

type Attributes = Readonly<Record<string, string>>

/** Attributes in which lazy-loading scripts keep the real address while `src` holds a placeholder. */
const lazyAttributes = ['data-src', 'data-original', 'data-lazy', 'data-lazy-src', 'data-full-src', 'data-hi-res-src']
const lazySrcsetAttributes = ['data-srcset', 'data-lazy-srcset']

/** The attributes that are read, by the element that they are read of. */
const readAttributes: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['a', new Set(['href'])],
  ['area', new Set(['href'])],
  ['base', new Set(['href'])],
  ['img', new Set(['src', 'srcset', 'alt', ...lazyAttributes, ...lazySrcsetAttributes])],
  ['source', new Set(['srcset', 'data-srcset'])],
  ['picture', new Set<string>()],
])

/**
 * Reads links and images in one streaming pass. It needs no tree, nor the elements that are open: to know them costs
 * more the deeper a page is.
 */
export function scanMarkup(html: string): Markup {
  const reader = new MarkupReader(html)
  const tokenizer = new Tokenizer({}, reader)
  tokenizer.write(html)
  tokenizer.end()
  return { base: reader.base, links: [...reader.links], images: reader.images }
}

class MarkupReader implements TokenizerCallbacks {
  base: string | undefined
  readonly links = new Set<string>()
  readonly images: ImageMarkup[] = []
  readonly #html: string
  /** The `srcset` of every `source` of the picture that is open, until its `img` comes. */
  #sources: string[] | undefined
  /** Elements that are open inside the picture: an end tag too many ends it. */
  #openInPicture = 0
  #element = ''
  /** Of the element; undefined: none is read. */
  #names: ReadonlySet<string> | undefined
  #attributes: Record<string, string> = {}
  /** Undefined: the attribute isn't read. */
  #attribute: string | undefined
  #value = ''

  constructor(html: string) {
    this.#html = html
  }

  onopentagname(start: number, end: number): void {
    this.#element = this.#html.slice(start, end).toLowerCase()
    this.#names = readAttributes.get(this.#element)
    if (this.#names !== undefined) this.#attributes = {}
    else this.#openInPicture++
  }

  onattribname(start: number, end: number): void {
    if (this.#names === undefined) return
    const name = this.#html.slice(start, end).toLowerCase()
    this.#attribute = this.#names.has(name) && this.#attributes[name] === undefined ? name : undefined
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute !== undefined) this.#value += this.#html.slice(start, end)
  }

  onattribentity(codePoint: number): void {
    if (this.#attribute !== undefined) this.#value += String.fromCodePoint(codePoint)
  }

  onattribend(_quote: QuoteType): void {
    if (this.#attribute === undefined) return
    this.#attributes[this.#attribute] = this.#value
    this.#attribute = undefined
    this.#value = ''
  }

  onopentagend(): void {
    if (this.#names !== undefined) this.#readElement(this.#element, this.#attributes)
  }

  onselfclosingtag(): void {
    this.onopentagend()
  }

  onclosetag(start: number, end: number): void {
    if (this.#sources === undefined) return
    const name = this.#html.slice(start, end).toLowerCase()
    if (name === 'picture' || (!readAttributes.has(name) && --this.#openInPicture < 0)) this.#sources = undefined
  }

  ontext(): void {}
  ontextentity(): void {}
  oncomment(): void {}
  oncdata(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onend(): void {}

  #readElement(name: string, attributes: Attributes): void {
    const { href } = attributes
    if (name === 'a' || name === 'area') {
      if (href !== undefined && href.length <= maxUrlLength && this.links.size < maxLinks) this.links.add(href)
    } else if (name === 'img') {
      const sources = this.#sources ?? []
      this.#sources = undefined
      if (this.images.length >= maxImages) return
      const candidates = imageCandidates(attributes, sources)
      if (candidates.length > 0) this.images.push({ candidates, alt: attributes['alt'] ?? '' })
    } else if (name === 'picture') {
      this.#sources = []
      this.#openInPicture = 0
    } else if (name === 'source') {
      const srcset = attributes['srcset'] ?? attributes['data-srcset']
      if (srcset !== undefined && this.#sources !== undefined && this.#sources.length < maxCandidates) this.#sources.push(srcset)
    } else if (href !== undefined && href.length <= maxUrlLength) {
      this.base ??= href
    }
  }
}

function imageCandidates(attributes: Attributes, sources: readonly string[]): string[] {
  const sized: SrcsetCandidate[] = []
  for (const srcset of [...sources, ...pick(attributes, lazySrcsetAttributes), ...pick(attributes, ['srcset'])]) {
    if (sized.length < maxCandidates) sized.push(...parseSrcset(srcset, maxCandidates - sized.length))
  }
  sized.sort((a, b) => b.size - a.size)
  const candidates = [...sized.map(({ url }) => url), ...pick(attributes, lazyAttributes), ...pick(attributes, ['src'])]
  const short = candidates.filter((url) => url.length <= maxUrlLength).map((url) => url.trim())
  const fetchable = short.filter((url) => url !== '' && !/^data:/i.test(url))
  return [...new Set(fetchable)].slice(0, maxCandidates)
}

function pick(attributes: Attributes, names: readonly string[]): string[] {
  return names.flatMap((name) => attributes[name] ?? [])
}

/**
 * The first `max` candidates of a `srcset` (WHATWG HTML §4.8.4.3.10), without those whose descriptors are in error. Every
 * character is read once, or twice in the commas behind a URL.
 */
export function parseSrcset(srcset: string, max = maxCandidates): SrcsetCandidate[] {
  const found: SrcsetCandidate[] = []
  let at = 0
  while (found.length < max) {
    while (isSpace(srcset[at]) || srcset[at] === ',') at++
    if (at === srcset.length) break
    const start = at
    while (at < srcset.length && !isSpace(srcset[at])) at++
    let end = at
    while (srcset[end - 1] === ',') end--
    const url = srcset.slice(start, end)
    if (end < at) {
      found.push({ url, size: 1 })
      continue
    }
    const descriptors = new Descriptors()
    while (at < srcset.length && srcset[at] !== ',') {
      const descriptorEnd = endOfDescriptor(srcset, at)
      if (descriptorEnd > at) descriptors.add(srcset.slice(at, descriptorEnd))
      at = isSpace(srcset[descriptorEnd]) ? descriptorEnd + 1 : descriptorEnd
    }
    const { size } = descriptors
    if (size !== undefined) found.push({ url, size })
  }
  return found
}

const isSpace = (character: string | undefined): boolean =>
  character === ' ' || character === '\n' || character === '\t' || character === '\r' || character === '\f'

/** Whitespace and commas end a descriptor unless they are in parentheses; these don't nest. */
function endOfDescriptor(srcset: string, start: number): number {
  let at = start
  while (at < srcset.length && srcset[at] !== ',' && !isSpace(srcset[at])) {
    if (srcset[at] === '(') {
      const close = srcset.indexOf(')', at)
      at = close === -1 ? srcset.length : close + 1
    } else {
      at++
    }
  }
  return at
}

/** The descriptors of one candidate, such as `640w` or `2x`. */
class Descriptors {
  #width: number | undefined
  #density: number | undefined
  #height: number | undefined
  #isWrong = false

  add(descriptor: string): void {
    const value = Number(/^(?:\d+(?=[wh]$)|-?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?(?=x$))/i.exec(descriptor)?.[0] ?? NaN)
    const unit = descriptor.at(-1)
    const none = undefined
    if (unit === 'w' && value > 0 && this.#width === none && this.#density === none) this.#width = value
    else if (unit === 'x' && value >= 0 && this.#width === none && this.#density === none && this.#height === none) this.#density = value
    else if (unit === 'h' && value > 0 && this.#height === none && this.#density === none) this.#height = value
    else this.#isWrong = true
  }

  /** Undefined when they are in error. */
  get size(): number | undefined {
    if (this.#isWrong || (this.#height !== undefined && this.#width === undefined)) return undefined
    return Math.min(this.#width ?? this.#density ?? 1, Number.MAX_SAFE_INTEGER)
  }
}
