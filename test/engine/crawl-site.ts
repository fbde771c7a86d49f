import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { run, type Log, type RunOptions, type RunSummary, type SettingsInput, type SpiderClass } from 'orbweaver'
import project from '../../settings.ts'
import { serve, type TestServer } from '../downloader/server.ts'

/** What a small site answers: HTML, bytes, or a status. */
export type Routes = Readonly<Record<string, string | Buffer | number>>

export interface SiteCrawl {
  readonly server: TestServer
  readonly dataDir: string
  /** Lines that the crawl logged, as `level message`. */
  readonly log: string[]
  crawl(spider: SpiderClass, options?: Partial<RunOptions>): Promise<RunSummary>
}

/** Serves `routes` on loopback, crawls them as often as `body` likes, and removes what is left. */
export async function withSite(routes: Routes | ((url: string) => string | Buffer | number | undefined), body: (site: SiteCrawl) => Promise<void>, settings: SettingsInput = {}): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'orbweaver-site-'))
  const find = typeof routes === 'function' ? routes : (url: string) => routes[url]
  const server = await serve(({ url = '' }, response) => {
    const found = find(url) ?? 404
    if (typeof found === 'number') response.writeHead(found).end()
    else if (typeof found === 'string') response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(found)
    else response.writeHead(200, { 'content-type': 'image/jpeg', 'content-length': found.length }).end(found)
  })
  const log: string[] = []
  const write = (level: string) => (_fields: object, message: string) => void log.push(`${level} ${message}`)
  const logger: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  try {
    await body({
      server,
      dataDir,
      log,
      crawl: (spider, options = {}) =>
        run({
          name: 'site', spider, project, args: { site: server.url }, environment: {}, log: logger, ...options,
          settings: { dataDir, network: { allowPrivate: true }, slot: { delayMs: 0 }, retry: { attempts: 1, backoffMs: 1 }, ...settings, ...options.settings },
        }),
    })
  } finally {
    await server.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** A picture with so much texture of its own that no other seed’s looks like it. */
export async function picture(seed: number, { width = 320, height = 240 } = {}): Promise<Buffer> {
  let state = Math.imul(seed, 2654435761) >>> 0
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 24
  const raw = Buffer.from(Array.from({ length: 8 * 6 * 3 }, random))
  return sharp(raw, { raw: { width: 8, height: 6, channels: 3 } }).resize(width, height, { kernel: 'cubic' }).jpeg().toBuffer()
}
