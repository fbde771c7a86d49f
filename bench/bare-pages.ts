import { StringDecoder } from 'node:string_decoder'
import { load } from 'cheerio'
import { Parser } from 'htmlparser2'
import { Agent } from 'undici'
import type { Meter } from './meter.ts'
import type { Job } from './scenarios.ts'

/** What a page refers to, as written in it. */
interface References {
  readonly links: string[]
  readonly images: string[]
}

type ReadReferences = (body: AsyncIterable<Buffer>) => Promise<References>

/** The least that a crawl of pages can cost: fetch, parse, resolve, remember in memory what was seen. */
export async function crawlPages({ scenario, origin, concurrency }: Job, meter: Meter): Promise<void> {
  const read = scenario === 'pages/cheerio' ? readByCheerio : readByParser
  const agent = new Agent({ connections: concurrency, pipelining: 1, allowH2: false })
  const start = new URL('/', origin)
  const seen = new Set([start.href])
  const seenImages = new Set<string>()
  const queue = [start]

  const visit = async (url: URL): Promise<void> => {
    const { statusCode, body } = await agent.request({ origin, path: url.pathname + url.search, method: 'GET' })
    const { links, images } = await read(body)
    if (statusCode !== 200) throw new Error(`${url.href} answered ${statusCode}`)
    for (const link of links) {
      const target = new URL(link, url)
      if (seen.has(target.href)) continue
      seen.add(target.href)
      queue.push(target)
    }
    for (const image of images) seenImages.add(new URL(image, url).href)
    meter.count()
  }

  try {
    await runQueue(queue, concurrency, visit)
  } finally {
    await agent.destroy()
  }
}

/** Works on `queue` in order, `concurrency` at once, until it is empty and nothing is in progress that could fill it. */
async function runQueue<Entry>(
  queue: readonly Entry[],
  concurrency: number,
  work: (entry: Entry) => Promise<void>,
): Promise<void> {
  let next = 0
  let active = 0
  await new Promise<void>((resolve, reject) => {
    const runOne = async (entry: Entry): Promise<void> => {
      await work(entry)
      active -= 1
      startMore()
    }
    const startMore = (): void => {
      for (let entry; active < concurrency && (entry = queue[next]) !== undefined; next += 1) {
        active += 1
        runOne(entry).catch(reject)
      }
      if (active === 0) resolve()
    }
    startMore()
  })
}

const readByParser: ReadReferences = async (body) => {
  const links: string[] = []
  const images: string[] = []
  const decoder = new StringDecoder('utf8')
  const parser = new Parser({
    onopentag(name, { href, src }) {
      if (name === 'a' && href !== undefined) links.push(href)
      else if (name === 'img' && src !== undefined) images.push(src)
    },
  })
  for await (const chunk of body) parser.write(decoder.write(chunk))
  parser.end(decoder.end())
  return { links, images }
}

const readByCheerio: ReadReferences = async (body) => {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  const $ = load(Buffer.concat(chunks).toString())
  const read = (selector: string, attribute: string): string[] =>
    Array.from($(selector), (element) => $(element).attr(attribute)).filter((value) => value !== undefined)
  return { links: read('a[href]', 'href'), images: read('img', 'src') }
}
