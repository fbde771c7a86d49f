import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { SettingsError, messageOf } from '../errors.ts'
import { closest } from '../settings/closest.ts'
import type { Project } from '../settings/define.ts'
import { loadSettings, type LoadedSettings } from '../settings/load.ts'
import type { Spider, SpiderArguments, SpiderClass } from '../spider.ts'
import { importFile } from './import-file.ts'

const settingsFiles = ['settings.ts', 'settings.js']

/**
 * The folder of settings.ts: `folder` itself, or `from` or the nearest folder above it.
 * @throws SettingsError when there is none.
 */
export function findProject(folder: string | undefined, from = process.cwd()): string {
  if (folder !== undefined) {
    const path = resolve(from, folder)
    if (holdsSettings(path)) return path
    throw new SettingsError(`There is no settings.ts in ${path} (--project).`)
  }
  for (let path = from; ; path = dirname(path)) {
    if (holdsSettings(path)) return path
    if (path === dirname(path)) break
  }
  throw new SettingsError(`This is no project: there is no settings.ts in ${from} or above it. Go to your project's folder, or name it with --project. To look around without one: crawl demo`)
}

/** Whether a folder is a project. */
export function holdsSettings(folder: string): boolean {
  return settingsFiles.some((name) => existsSync(join(folder, name)))
}

/** @throws SettingsError when settings.ts can't be loaded or exports no project. */
export async function loadProject(root: string): Promise<Project> {
  const name = settingsFiles.find((file) => existsSync(join(root, file))) ?? 'settings.ts'
  const { default: project } = await importFile(join(root, name), root)
  if (typeof project !== 'object' || project === null) {
    throw new SettingsError(`${name} has no default export that is an object. It must say: export default defineSettings({ downloaderMiddlewares, spiderMiddlewares, pipelines })`)
  }
  return project as Project
}

/** A spider's file. */
export interface SpiderFile {
  /** The name of the file, without its ending. */
  readonly name: string
  readonly path: string
}

/** The spiders of a project, by name. */
export function listSpiders(root: string): SpiderFile[] {
  const folder = join(root, 'spiders')
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return []
  const names = readdirSync(folder).filter((name) => /^[^_.].*\.[tj]s$/.test(name) && !/\.(d|test|spec)\.ts$/.test(name))
  const files = new Map<string, SpiderFile>()
  for (const file of names.sort()) {
    const name = basename(file).replace(/\.[tj]s$/, '')
    const known = files.get(name)
    if (known !== undefined) throw new SettingsError(`There are two spiders "${name}": spiders/${basename(known.path)} and spiders/${file}. Remove or rename one.`)
    files.set(name, { name, path: join(folder, file) })
  }
  return [...files.values()]
}

/** @throws SettingsError with the names that there are when there is no such spider. */
export function findSpider(root: string, name: string): SpiderFile {
  const spiders = listSpiders(root)
  const found = spiders.find((spider) => spider.name === name.replace(/^spiders\/|\.[tj]s$/g, ''))
  if (found !== undefined) return found
  if (spiders.length === 0) throw new SettingsError(`There is no spider "${name}": there is none yet. Write spiders/${name}.ts in ${root}.`)
  const names = spiders.map((spider) => spider.name)
  const nearest = closest(name, names)
  throw new SettingsError(`There is no spider "${name}".${nearest === undefined ? '' : ` Did you mean "${nearest}"?`} This project has: ${names.join(', ')}.`)
}

/** @throws SettingsError when the file can't be loaded or its default export is no spider. */
export async function loadSpider(root: string, { path, name }: SpiderFile): Promise<SpiderClass> {
  const { default: exported } = await importFile(path, root)
  const file = relative(root, path)
  const example = `export default class ${className(name)} extends Spider`
  if (exported === undefined) throw new SettingsError(`${file} has no default export. It must say: ${example} { … }`)
  if (typeof exported !== 'function' || typeof exported.prototype?.parse !== 'function') {
    throw new SettingsError(`The default export of ${file} is no spider: it must be a class with a method parse. It must say: ${example} { async *parse(page) { … } }`)
  }
  return exported as SpiderClass
}

function className(name: string): string {
  return name.replace(/(^|[^a-zA-Z0-9]+)([a-zA-Z0-9])/g, (_, __, letter: string) => letter.toUpperCase())
}

/** @throws SettingsError when the spider's constructor throws. */
export function constructSpider(spiderClass: SpiderClass, name: string, args: SpiderArguments = {}): Spider<any> {
  try {
    return new spiderClass(args)
  } catch (cause) {
    throw new SettingsError(`The spider "${name}" could not be made: ${messageOf(cause)}`, { cause })
  }
}

/** The settings as a run of this spider would have them. */
export function loadProjectSettings(project: Project, spider?: Spider<any>, commandLine: Readonly<Record<string, string>> = {}): LoadedSettings {
  return loadSettings({ project, environment: process.env, commandLine, ...(spider === undefined ? {} : { spider: spider.settings }) })
}
