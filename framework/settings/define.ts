import type { DownloaderMiddleware, Pipeline, SpiderMiddleware } from '../crawl.ts'
import type { SettingsInput } from './schema.ts'

/** What settings.ts exports. The three lists are required, outermost first; there is no hidden list to merge with. */
export interface Project extends SettingsInput {
  readonly downloaderMiddlewares: readonly DownloaderMiddleware[]
  readonly spiderMiddlewares: readonly SpiderMiddleware[]
  readonly pipelines: readonly Pipeline[]
}

/** Gives settings.ts completion and checking in an editor. What it holds is checked when a crawl opens. */
export function defineSettings(project: Project): Project {
  return project
}
