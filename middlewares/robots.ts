import { LRUCache } from 'lru-cache'
import robotsParser from 'robots-parser'
import { IgnoreRequest, isCrawlError, Request, RetryRequest } from 'orbweaver'
import type { Crawl, DownloadError, DownloaderMiddleware, Middleware, PageResponse, Response } from 'orbweaver'

type Next = Parameters<Middleware<Request, Promise<Response>>>[1]

/** What the robots.txt of an origin says to us: which URLs it allows, and how far apart requests should be. */
interface Rules {
  readonly allows: (url: string) => boolean
  readonly delayMs: number
  /** About the bytes of memory that they take. */
  readonly size: number
}

/** The longest Crawl-delay of the origins that share a slot. */
interface Longest {
  readonly origin: string
  readonly delayMs: number
}

/** Its declarations describe an ES module, which it isn't. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default

const everything: Rules = { allows: () => true, delayMs: 0, size: 1 }

/** A crawl of many hosts comes to each in turn: with fewer, it would fetch a robots.txt for every page. */
const cachedOrigins = 50_000
const cachedBytes = 64 * 1024 * 1024
/** Milliseconds for which a robots.txt that could not be had isn't asked for again. */
const failureMs = 30_000
/** RFC 9309 §2.3.1.2 and §2.5. */
const maxRedirects = 5
const maxBytes = 500 * 1024
/** Characters of rules with a `*` that are matched as written, and of a URL: their product bounds the work for one request. */
const maxWildcards = 20_000
const maxUrlLength = 2_000
/** Of the object that the parser keeps for a rule, beside its text. */
const bytesPerRule = 100

/**
 * Obeys robots.txt (RFC 9309), for pages and images: one fetch an origin, however many wait for it. What it disallows is
 * ignored; its Crawl-delay becomes the slot's least delay, the longest one where origins share a slot. No robots.txt (4xx)
 * allows everything; one that can't be had (5xx, no answer) allows nothing yet, so the request is tried again later.
 */
export const robots: DownloaderMiddleware = (crawl) => {
  const { settings, slots, signal } = crawl
  const agent = tokenOf(settings.userAgent)
  const ttl = Math.max(1, settings.robots.ttlMs)
  const known = new LRUCache<string, Promise<Rules>>({ max: cachedOrigins, maxSize: cachedBytes, sizeCalculation: () => 1 })
  const longest = new LRUCache<string, Longest>({ max: cachedOrigins, ttl, noUpdateTTL: true })

  const rulesOf = (request: Request, origin: string, next: Next): Promise<Rules> => {
    const cached = known.get(origin)
    if (cached !== undefined) return cached
    const rules = fetchRules(crawl, request, origin, agent, next)
    known.set(origin, rules)
    rules.then(
      ({ size }) => known.set(origin, rules, { ttl, size }),
      () => known.set(origin, rules, { ttl: failureMs }),
    )
    return rules
  }

  /**
   * Said for each request, since a slot that was not in use for long is forgotten. By domain, what an earlier process was
   * asked for holds until an origin asks for as much: it may have been another one of the slot.
   */
  const askDelay = ({ slot }: Request, origin: string, delayMs: number): void => {
    const name = slots.nameOf(slot)
    const known = longest.get(name) ?? { origin: '', delayMs: slots.by === 'domain' ? slots.leastDelayOf(slot) : 0 }
    const asked = known.origin === origin || delayMs >= known.delayMs ? { origin, delayMs } : known
    longest.set(name, asked)
    slots.setLeastDelay(slot, asked.delayMs, 'crawl-delay')
  }

  return async function robots(request, next) {
    if (!settings.robots.obey) return next(request)
    const { origin, pathname } = new URL(request.url)
    if (pathname === '/robots.txt') return next(request)
    const rules = await rulesOf(request, origin, next).catch((error: unknown) => {
      throw signal.aborted ? error : unreachable(error)
    })
    askDelay(request, origin, rules.delayMs)
    if (rules.allows(request.url)) return next(request)
    throw new IgnoreRequest('robots', { message: `${origin}/robots.txt disallows ${pathname.slice(0, 200)} for ${agent}.` })
  }
}

async function fetchRules(crawl: Crawl, request: Request, origin: string, agent: string, next: Next): Promise<Rules> {
  const options = { slot: request.slot, headers: { accept: 'text/plain,*/*;q=0.5' } }
  const response = await fetchFile(new Request(`${origin}/robots.txt`, options), next)
  if (response === undefined || (response.status >= 300 && response.status < 500 && response.status !== 429)) return everything
  if (response.status >= 300) throw new RetryRequest(`http ${response.status}`)
  const { maxCrawlDelayMs } = crawl.settings.robots
  const text = (response as PageResponse).body.subarray(0, maxBytes).toString('utf8')
  if (/^[\ufeff\s]*</.test(text)) {
    crawl.log.warn({ url: response.url }, 'robots.txt looks like HTML; everything is allowed')
    return everything
  }
  const rules = parse(text, origin, agent)
  if (rules.delayMs === 0) return rules
  const delayMs = Math.min(rules.delayMs, maxCrawlDelayMs)
  if (delayMs < rules.delayMs) crawl.log.warn({ origin, crawlDelayMs: rules.delayMs }, `Crawl-delay is cut to ${delayMs} ms`)
  return { ...rules, delayMs }
}

/** Undefined when there is none: a redirect that leads nowhere, or too many of them. */
async function fetchFile(file: Request, next: Next): Promise<Response | undefined> {
  let hop = file
  for (let hops = 0; hops <= maxRedirects; hops++) {
    const response = await next(hop)
    const location = response.headers['location']
    if (response.status < 300 || response.status > 399) return response
    if (location === undefined || !URL.canParse(location, hop.url)) return undefined
    const url = new URL(location, hop.url)
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
    hop = hop.with({ url })
  }
  return undefined
}

/** What the request meets when its robots.txt can't be had: another try, where one may help. */
function unreachable(error: unknown): unknown {
  if (isCrawlError(error, 'retry')) {
    const { afterMs, counted, message } = error as RetryRequest
    const when = afterMs === undefined ? {} : { afterMs }
    return new RetryRequest('robots unreachable', { ...when, counted, message: `robots.txt: ${message}`, cause: error })
  }
  if (isCrawlError(error, 'download') && (error as DownloadError).transient) {
    return new RetryRequest('robots unreachable', { message: `robots.txt: ${error.message}`, cause: error })
  }
  return error
}

function parse(text: string, origin: string, agent: string): Rules {
  const lines = normalized(text, agent)
  const contents = lines.join('\n')
  const file = parseRobots(`${origin}/robots.txt`, contents)
  const allows = (url: string): boolean => file.isAllowed(uniform(url.slice(0, maxUrlLength)), agent) !== false
  return { allows, delayMs: (file.getCrawlDelay(agent) ?? 0) * 1000, size: 1 + contents.length + lines.length * bytesPerRule }
}

const record = /^\s*(?:(user[- ]?agent)|(allow)|(diss?all?[oa]w|diasllow)|crawl-delay)\s*[:\s]\s*([^#]*)/i

/**
 * The lines that concern us, in the one spelling that the parser knows. Only rules end a run of agents (RFC 9309 §2.1), so
 * other records are left out and delays come last; a product token ends where its version begins (§2.2.1); misspelt names
 * and missing colons are read as Google reads them.
 */
function normalized(text: string, agent: string): string[] {
  const whole = text.length < maxBytes ? text : text.slice(0, text.lastIndexOf('\n') + 1)
  const lines: string[] = []
  const delays: string[] = []
  let agents: string[] = []
  let begun = false
  let wildcards = 0
  for (const line of whole.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)) {
    const [matched, name, allow, disallow, rest = ''] = record.exec(line) ?? []
    const value = rest.trim()
    if (matched === undefined) continue
    if (name !== undefined) {
      if (begun) agents = []
      begun = false
      const token = /^\*(\s|$)/.test(value) ? '*' : value.toLowerCase().split(/[\s/*]/, 1)[0]
      const group = `user-agent: ${token}`
      if ((token === agent || token === '*') && !agents.includes(group)) agents.push(group)
    } else if (allow !== undefined || disallow !== undefined) {
      if (!begun) lines.push(...agents)
      begun = true
      wildcards += value.includes('*') ? value.length : 0
      if (agents.length > 0) lines.push(...ruleLines(allow === undefined ? 'disallow' : 'allow', value, wildcards > maxWildcards))
    } else if (agents.length > 0 && /^(\d+\.?\d*|\.\d+)$/.test(value)) delays.push(...agents, `crawl-delay: ${value}`)
  }
  return [...lines, ...delays]
}

/** With `plain`, a rule with a wildcard disallows more, or allows less, than it says. */
function ruleLines(kind: 'allow' | 'disallow', path: string, plain: boolean): string[] {
  const star = path.indexOf('*')
  if (plain && star !== -1) return kind === 'allow' ? [] : [`disallow: ${uniform(path.slice(0, star)) || '/'}`]
  // Google takes the permission for an index file for that of its folder.
  const folder = kind === 'allow' && /\/index\.html?$/.test(path) ? [`allow: ${uniform(path.replace(/index\.html?$/, '$'))}`] : []
  return [`${kind}: ${uniform(path)}`, ...folder]
}

/** Escapes of letters, digits, `-`, `.`, `_` and `~`. */
const needless = /%(2[de]|3\d|[46][1-9a-f]|[57][0-9a]|5f|7e)/gi

/** One spelling for paths in rules and in URLs: characters that need no escape are written without (RFC 9309 §2.2.2). */
function uniform(path: string): string {
  return path.includes('%') ? path.replace(needless, (escape) => decodeURIComponent(escape)) : path
}

/** The name that robots.txt files call us by: the product token of the User-Agent, past the `Mozilla/5.0 (compatible;` of many. */
function tokenOf(userAgent: string): string {
  const [, token = 'orbweaver'] = /\bcompatible;\s*([^\s/;)]+)/.exec(userAgent) ?? /^\s*([^\s/]+)/.exec(userAgent) ?? []
  return token.toLowerCase()
}
