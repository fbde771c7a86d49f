import { z } from 'zod'
import { byteSize, duration } from './units.ts'

const section = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).prefault({} as never)

/** What may be set for some hosts by name. */
export const hostSchema = z.strictObject({
  concurrency: z.int().min(1).optional(),
  delayMs: duration(0).optional(),
  jitter: z.number().min(0).max(1).optional(),
  perSecond: z.number().min(0).optional(),
  burst: z.int().min(1).optional(),
})

/** Every setting, with its default: the type, the help, the variable names and the documentation are made from it. */
export const schema = z.strictObject({
  concurrency: z.int().min(1).max(1000).default(32).describe('Requests in progress at once, from lease to settled.'),
  slot: section({
    by: z.enum(['host', 'domain']).default('host').describe('What shares one delay: a host with its port, or a registrable domain with all its hosts.'),
    concurrency: z.int().min(1).default(2).describe('Requests at once to one host.'),
    delayMs: duration(0).default(500).describe('Between the starts of two requests to one host.'),
    jitter: z.number().min(0).max(1).default(0.25).describe('Each delay is changed by up to this share of it, at random.'),
    perSecond: z.number().min(0).default(0).describe('Requests a second to one host, on average over bursts; for more than delayMs allows, set that to 0. 0: the delay alone.'),
    burst: z.int().min(1).default(1).describe('Requests that may go out at once when a host has been idle; with perSecond.'),
  }),
  hosts: z.record(z.string().min(1), hostSchema).default({}).describe('Other values of `slot` for some hosts: `{ "*.example.com": { delayMs: "2s" } }`. A name without a port holds for all ports; the longest that fits counts.'),
  queue: section({
    order: z.enum(['breadth', 'depth']).default('breadth').describe('Of requests of one priority at one host: found first goes first, or found last goes first.'),
    priorities: z.array(z.strictObject({ url: z.string().min(1), priority: z.int() })).default([]).describe('Added to the priority of requests by URL: `{ url: "*/archive/*", priority: -10 }`. The first that fits counts; `/…` is matched with the path, else the whole URL.'),
    synchronous: z.enum(['normal', 'full']).default('normal').describe('`full`: what is committed survives a power cut too, at some cost; `normal` survives any end of the process.'),
  }),
  dupeFilter: section({
    kind: z.enum(['memory', 'disk', 'bloom', 'lossy-hyperloglog']).default('memory').describe('What tells known URLs: exact in memory, exact on disk, a Bloom filter, or a bank of HyperLogLogs that loses about 0.3 % of new URLs.'),
    bits: z.literal([64, 128], { error: 'must be 64 or 128' }).default(64).describe('Length of a fingerprint. 64 loses 3 URLs of 10,000 million.'),
    capacity: z.int().min(1_000).default(10_000_000).describe('URLs that a Bloom filter or a bank is made for. More make it grow, which is said.'),
    errorRate: z.number().min(1e-9).max(0.1).default(0.001).describe('Share of new URLs that a Bloom filter at its capacity takes for known.'),
    per: z.enum(['job', 'host']).default('job').describe('One Bloom filter for all, or one for each host, each of which grows with its host.'),
    ttlMs: duration(0, 3650 * 86_400_000).default(0).describe('A URL met longer ago than this counts as new. 0: never.'),
  }),
  timeout: section({
    connectMs: duration(1).default(10_000).describe('For the connection, TLS included.'),
    firstByteMs: duration(1).default(30_000).describe('From the request sent to the first byte of the answer.'),
    totalMs: duration(1).default(180_000).describe('For the whole of one request.'),
  }),
  pages: section({
    maxBytes: byteSize(1).default(10_000_000).describe('Of a page, decoded. A larger one fails.'),
    callbackMs: duration(1).default(120_000).describe('For one callback to end.'),
    maxDepth: z.int().min(0).default(0).describe('Links followed from a start page. 0: no limit.'),
  }),
  images: section({
    maxBytes: byteSize(1).default(100_000_000).describe('Of an image. A larger one fails.'),
    maxPixels: z.int().min(1).default(150_000_000).describe('Width × height × frames. More is refused before it is decoded.'),
    minWidth: z.int().min(0).default(100).describe('Narrower images are dropped.'),
    minHeight: z.int().min(0).default(100).describe('Lower images are dropped.'),
    maxAspect: z.number().min(0).default(10).describe('Longer side ÷ shorter side. More is dropped; 0: any.'),
    formats: z.array(z.enum(['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff', 'svg'])).default(['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff']).describe('Others are dropped.'),
  }),
  dedupe: section({
    hash: z.enum(['pHash', 'dHash', 'aHash']).default('pHash').describe('Which perceptual hash tells that two pictures are the same.'),
    duplicateDistance: z.int().min(-1).max(16).default(5).describe('Up to so many differing bits of 64 a picture is a duplicate. -1: only equal bytes are.'),
    reviewDistance: z.int().min(-1).max(24).default(10).describe('Up to so many it is kept and marked for review.'),
    replaceRatio: z.number().min(1).default(1.5).describe('A duplicate with so many times the pixels takes the place of the kept picture.'),
  }),
  urls: section({
    ignoreParameters: z.array(z.string()).default([]).describe('Query and path parameters that do not matter, such as jsessionid or utm_*.'),
  }),
  fingerprint: section({
    headers: z.array(z.string()).default([]).describe('Request headers that make two requests different.'),
  }),
  robots: section({
    obey: z.boolean().default(true).describe('Follow robots.txt (RFC 9309).'),
    ttlMs: duration(0).default(86_400_000).describe('How long a robots.txt is used before it is fetched again.'),
    maxCrawlDelayMs: duration(0).default(60_000).describe('A longer Crawl-delay is shortened to this.'),
  }),
  userAgent: z.string().min(1).default('').describe('Sent with every request. Empty: orbweaver with its version and your contact.'),
  contact: z.string().default('').describe('A URL or mail address in the default User-Agent, for the owners of the sites.'),
  redirect: section({
    max: z.int().min(0).default(5).describe('Hops followed for one request.'),
  }),
  retry: section({
    attempts: z.int().min(0).default(3).describe('How often a request that failed is tried again.'),
    backoffMs: duration(0).default(5_000).describe('Before the first of them; twice as long before each further one.'),
    maxBackoffMs: duration(0).default(300_000).describe('At most so long; a Retry-After is cut to ten times this.'),
    statuses: z.array(z.int().min(400).max(599)).default([408, 425, 429, 500, 502, 503, 504, 522, 524]).describe('Statuses that are tried again.'),
  }),
  autothrottle: section({
    enabled: z.boolean().default(true).describe('Move the delay of each host by how it answers.'),
    targetConcurrency: z.number().min(0.1).default(1).describe('Requests at once that a host should have to serve.'),
    maxDelayMs: duration(0).default(60_000).describe('The delay never grows beyond this.'),
  }),
  cookies: section({
    enabled: z.boolean().default(true).describe('Keep cookies and send them back, each to where it came from.'),
  }),
  network: section({
    allowPrivate: z.boolean().default(false).describe('UNSAFE with pages of strangers: allow loopback, private and link-local addresses.'),
  }),
  limits: section({
    images: z.int().min(0).default(0).describe('Stop when so many images have been kept since this start. 0: no limit.'),
    pages: z.int().min(0).default(0).describe('Stop after so many pages since this start. 0: no limit.'),
    bytes: byteSize(0).default(0).describe('Stop when so many bytes have been received since this start. 0: no limit.'),
    errors: z.int().min(0).default(0).describe('Stop when so many requests have failed for good since this start. 0: no limit.'),
    timeMs: duration(0).default(0).describe('Stop after so long. 0: no limit.'),
    blockedMs: duration(0).default(900_000).describe('Stop when all that is left has to wait longer than this, for its host or its next try; the next run takes it up. 0: wait.'),
  }),
  expect: section({
    images: z.int().min(0).default(0).describe('Exit code 3 unless at least so many images are kept or known.'),
  }),
  stop: section({
    graceMs: duration(0).default(15_000).describe('For requests in progress to end when the crawl is stopped.'),
    outageMs: duration(0).default(300_000).describe('A database that is away is waited for so long.'),
  }),
  dataDir: z.string().min(1).default('data').describe('Folder of the frontier and temporary files, and of database and images unless set.'),
  database: z.string().default('').describe('sqlite:PATH or postgresql://…; empty: sqlite:DATADIR/crawl.db. DATABASE_URL sets it too.'),
  files: z.string().default('').describe('Folder of the images. Empty: DATADIR/images.'),
  log: section({
    level: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('Lines below it are not written.'),
  }),
})

/** All settings, complete and checked. */
export type Settings = z.infer<typeof schema>
/** What may be written: any part of the settings. Durations as ms or `'30s'`, sizes as bytes or `'5MB'`. */
export type SettingsInput = z.input<typeof schema>
