export const scenarioNames = ['pages/stream', 'pages/cheerio', 'images'] as const
export type ScenarioName = (typeof scenarioNames)[number]

export const contenders = ['bare', 'product'] as const
export type Contender = (typeof contenders)[number]

/** What a crawling process is told to do. Plain data: it is handed over on the command line. */
export interface Job {
  readonly contender: Contender
  readonly scenario: ScenarioName
  /** Where the site listens, for example `http://127.0.0.1:40123`. */
  readonly origin: string
  /** Items that the site has for this scenario: pages, or images. */
  readonly items: number
  readonly concurrency: number
  /** An empty folder of this process's own. */
  readonly folder: string
}

/** What the two contenders do in a scenario, for the report. */
export const scenarioTitles: Readonly<Record<ScenarioName, string>> = {
  'pages/stream': 'bare: undici, htmlparser2 Parser, new URL, Set; product: page.links()',
  'pages/cheerio': 'bare: undici, cheerio.load, new URL, Set; product: page.$',
  images: 'bare: undici, file and SHA-256, dHash by sharp, rename, row by libsql; product: all default pipelines',
}
