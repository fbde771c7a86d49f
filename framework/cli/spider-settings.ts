import { isCrawlError, messageOf } from '../errors.ts'
import type { Settings } from '../settings/schema.ts'
import type { Spider } from '../spider.ts'
import { constructSpider, findProject, loadProject, loadProjectSettings, loadSpider, type SpiderFile } from './project.ts'

/** A spider with the settings that its runs have. */
export interface SpiderSettings {
  readonly file: SpiderFile
  readonly settings: Settings
  /** Why it can't be loaded; `settings` are the project's then. */
  readonly problem?: string
}

/**
 * Reads the settings of spiders from the files of their project.
 * @throws SettingsError when settings.ts can't be used.
 */
export async function readSpiderSettings(
  root: string,
  files: readonly SpiderFile[],
  overrides: Readonly<Record<string, string>>,
): Promise<SpiderSettings[]> {
  const project = await loadProject(root)
  const read: SpiderSettings[] = []
  for (const file of files) {
    let spider: Spider<any> | undefined
    let problem: string | undefined
    try {
      spider = constructSpider(await loadSpider(root, file), file.name)
    } catch (error) {
      problem = messageOf(error)
    }
    const { settings } = loadProjectSettings(project, spider, overrides)
    read.push({ file, settings, ...(problem === undefined ? {} : { problem }) })
  }
  return read
}

/**
 * The folder of the project.
 * @param isOptional answers undefined when there is none and none was named: a demo can be run anywhere.
 * @throws SettingsError when there is none else.
 */
export function findProjectUnless(isOptional: boolean, folder: string | undefined): string | undefined {
  try {
    return findProject(folder)
  } catch (error) {
    if (isOptional && folder === undefined && isCrawlError(error, 'settings')) return undefined
    throw error
  }
}
