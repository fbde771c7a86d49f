import { stripVTControlCharacters } from 'node:util'
import { SettingsError } from '../../errors.ts'
import { closest } from '../../settings/closest.ts'
import { describeSettings } from '../../settings/load.ts'
import { parseAssignments } from '../assignments.ts'
import { cleanText } from '../clean.ts'
import { alignColumns } from '../columns.ts'
import { maskValue } from '../mask.ts'
import { createPaint, type Paint } from '../paint.ts'
import { constructSpider, findProject, findSpider, loadProject, loadProjectSettings, loadSpider } from '../project.ts'

export interface SettingsCommandOptions {
  readonly path?: string
  readonly spider?: string
  readonly set?: readonly string[]
  readonly json?: boolean
  readonly project?: string
}

interface ShownSetting {
  readonly path: string
  readonly value: unknown
  /** `default`, `settings.ts`, `spider`, the variable's name, or `command line`. */
  readonly origin: string
  readonly default: unknown
  readonly description: string
  readonly variable: string
}

/** `crawl settings` */
export async function showSettings({ path: wanted, spider: name, set, json, project: folder }: SettingsCommandOptions): Promise<number> {
  const root = findProject(folder)
  process.chdir(root)
  const project = await loadProject(root)
  const file = name === undefined ? undefined : findSpider(root, name)
  const spider = file === undefined ? undefined : constructSpider(await loadSpider(root, file), file.name)
  const { origins } = loadProjectSettings(project, spider, parseAssignments('-s', set))
  const descriptions = new Map(describeSettings().map((description) => [description.path, description]))
  const all = origins.map(({ path, value, origin }): ShownSetting => {
    const { description = '', variable = '', default: byDefault } = descriptions.get(path) ?? {}
    return { path, value: maskValue(value), origin, default: byDefault, description, variable }
  })
  const shown = wanted === undefined ? all : all.filter(({ path }) => path === wanted || path.startsWith(`${wanted}.`))
  if (shown.length === 0 && wanted !== undefined) {
    const nearest = closest(wanted, [...all.map(({ path }) => path), ...new Set(all.map(({ path }) => path.replace(/\.[^.]+$/, '')))])
    throw new SettingsError(`There is no setting "${wanted}".${nearest === undefined ? '' : ` Did you mean "${nearest}"?`}`)
  }
  const paint = createPaint(process.stdout)
  const lines = wanted === undefined ? renderTable(shown, paint) : shown.flatMap((setting) => renderSetting(setting, paint))
  process.stdout.write(json === true ? `${JSON.stringify(shown)}\n` : `${lines.join('\n')}\n`)
  return 0
}

/** One line for each; on a terminal, as much of the meaning as there is room for. */
function renderTable(shown: readonly ShownSetting[], paint: Paint): string[] {
  const heads = alignColumns(shown.map(({ path, value, origin }) => {
    const isChanged = origin !== 'default'
    return [isChanged ? paint('bold', path) : path, cleanText(JSON.stringify(value), 24), isChanged ? paint('green', origin) : paint('dim', origin), '|']
  })).map((line) => line.slice(0, -1))
  const room = (process.stdout.columns ?? Infinity) - Math.max(...heads.map((head) => stripVTControlCharacters(head).length)) - 1
  return shown.map(({ description }, index) => `${heads[index]}${room > 10 ? paint('dim', cleanText(description, room)) : ''}`)
}

function renderSetting({ path, value, origin, default: byDefault, description, variable }: ShownSetting, paint: Paint): string[] {
  const rows = [
    ['value', JSON.stringify(value)],
    ['origin', origin],
    ['default', JSON.stringify(byDefault)],
    ['variable', variable],
  ]
  return [paint('bold', path), `  ${description}`, ...alignColumns(rows).map((row) => `  ${row}`)]
}
