import type { DownloaderMiddleware, Pipeline, SpiderMiddleware } from '../crawl.ts'
import type { Request } from '../http/request.ts'
import type { SettingsInput } from './schema.ts'

/** What tells a request apart: two with one text are the same. Undefined: by method, canonical URL, body and headers, as usual. */
export type RequestFingerprint = (request: Request) => string | undefined

/** What settings.ts exports. The three lists are required, outermost first; there is no hidden list to merge with. */
export interface Project extends SettingsInput {
  readonly downloaderMiddlewares: readonly DownloaderMiddleware[]
  readonly spiderMiddlewares: readonly SpiderMiddleware[]
  readonly pipelines: readonly Pipeline[]
  /** Other rules for what the same request is, such as the number of a product in its URL. */
  readonly requestFingerprint?: RequestFingerprint
}

/** Gives settings.ts completion and checking in an editor. What it holds is checked when a crawl opens. */
export function defineSettings(project: Project): Project {
  return project
}
