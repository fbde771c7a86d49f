import type { PageResponse, Results } from './http/response.ts'
import { Request } from './http/request.ts'
import type { JsonObject } from './json.ts'
import type { SettingsInput } from './settings/schema.ts'

/** What `-a name=value` gives to a spider. */
export type SpiderArguments = Readonly<Record<string, string>>

/**
 * One site's logic. `spiders/gallery.ts` exports one as default and is the spider `gallery`.
 * Requests carry the names of methods, so callbacks are methods of the class.
 */
export abstract class Spider<Data extends object = JsonObject> {
  /** What the command line gave with `-a name=value`. */
  readonly args: SpiderArguments
  /** Where the crawl begins. */
  readonly startUrls: readonly string[] = []
  /** Domains to stay on, with their subdomains; `*`: any. Empty: the hosts of `startUrls`. Images may come from anywhere. */
  readonly allowedDomains: readonly string[] = []
  /** Over settings.ts, under the environment and the command line. */
  readonly settings: SettingsInput = {}

  constructor(args: SpiderArguments = {}) {
    this.args = args
  }

  /** Where the crawl begins, one request for each of `startUrls`. Consumed as fast as the frontier takes it. */
  async *start(): AsyncGenerator<Request, void, undefined> {
    for (const url of this.startUrls) yield new Request(url)
  }

  abstract parse(page: PageResponse, meta: JsonObject): Results<Data>
}

/** A spider's class, as a spider file exports it. */
export type SpiderClass = new (args?: SpiderArguments) => Spider<any>
