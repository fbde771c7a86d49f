import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { messageOf } from '../errors.ts'
import { countPrepared, inspectFrontier, type FrontierInspection } from '../frontier/inspect.ts'
import { runningProcess } from '../frontier/lock.ts'
import { loadSettings } from '../settings/load.ts'
import type { Settings } from '../settings/schema.ts'
import { parseAssignments } from './assignments.ts'
import { commandLine, resumeCommand } from './command-line.ts'
import { demoCommand, demoFolder, demoSettings, listDemos } from './demo-project.ts'
import { findProject, findSpider, listSpiders, loadProject, loadProjectSettings } from './project.ts'
import { findProjectUnless, readSpiderSettings } from './spider-settings.ts'

/** What the options of every command on jobs say of where they are. */
export interface JobsOptions {
  readonly set?: readonly string[]
  readonly project?: string
}

/** Where a spider's job is, whether it has one or not. */
export interface JobPlace {
  /** Of the spider. */
  readonly name: string
  /** The frontier's file. */
  readonly path: string
  readonly settings: Settings
  /** What goes on with it; undefined when the spider's file is gone. */
  readonly command: string | undefined
}

/**
 * How a job stands, in a word. `limit`, `blocked` and `failed` are ways to be stopped; `to retry`
 * had ended, and has requests to try once more; `prepared` has been given fingerprints and not
 * begun.
 */
export type JobState = 'running' | 'stopped' | 'limit' | 'blocked' | 'failed' | 'to retry' | 'killed' | 'finished' | 'prepared' | 'unreadable'

export interface Job extends JobPlace {
  readonly state: JobState
  /** The process that runs it. */
  readonly process: number | undefined
  /** Undefined also for a finished job of another version. */
  readonly frontier: FrontierInspection | undefined
  /** Fingerprints that were imported, of a prepared job. */
  readonly prepared: number | undefined
  /** Why it can't be read. */
  readonly error: string | undefined
}

/** The places where spiders of a project have their jobs, those of spiders that are gone, and those of demos run from here. */
export async function listPlaces({ set, project: folder }: JobsOptions): Promise<JobPlace[]> {
  const demos = listDemoPlaces()
  const root = findProjectUnless(demos.length > 0, folder)
  return root === undefined ? demos : [...(await listPlacesIn(root, set)), ...demos]
}

/**
 * Where the jobs of these spiders are.
 * @throws SettingsError when there is neither such a spider nor a job of one.
 */
export async function findPlaces(names: readonly string[], { set, project: folder }: JobsOptions): Promise<JobPlace[]> {
  const demos = listDemoPlaces()
  const isDemo = (name: string) => demos.some((place) => place.name === name)
  if (names.every(isDemo)) return demos.filter(({ name }) => names.includes(name))
  const root = findProject(folder)
  const places = [...demos, ...(await listPlacesIn(root, set))]
  const find = (wanted: string) => places.find(({ name }) => name === wanted)
  return [...new Set(names.map((name) => find(name) ?? find(findSpider(root, name).name) as JobPlace))]
}

/** As `findPlaces`, of one spider. */
export async function findPlace(name: string, options: JobsOptions): Promise<JobPlace> {
  const [place] = await findPlaces([name], options)
  return place as JobPlace
}

async function listPlacesIn(root: string, set: readonly string[] | undefined): Promise<JobPlace[]> {
  process.chdir(root)
  const overrides = parseAssignments('-s', set)
  const { settings: common } = loadProjectSettings(await loadProject(root), undefined, overrides)
  const spiders = await readSpiderSettings(root, listSpiders(root), overrides)
  const places = spiders.map(({ file: { name }, settings }): JobPlace => {
    return { name, path: pathOf(settings, name), settings, command: commandLine('run', name) }
  })
  const known = new Set(places.map(({ path }) => path))
  const folders = new Set([common, ...spiders.map(({ settings }) => settings)].map((settings) => dirname(pathOf(settings, ''))))
  for (const frontiers of folders) {
    const names = filesIn(frontiers).flatMap((file) => /^(.+)\.db(\.set-aside-.*)?$/.exec(file)?.[1] ?? [])
    for (const name of new Set(names)) {
      const path = join(frontiers, `${name}.db`)
      if (!known.has(path)) places.push({ name, path, settings: common, command: undefined })
    }
  }
  return places
}

/** How a job stands; undefined when there is none in this place. What can't be read is said, not thrown. */
export function readJob(place: JobPlace): Job | undefined {
  const { path } = place
  if (!existsSync(path)) return undefined
  try {
    const frontier = inspectFrontier(path)
    const prepared = frontier === undefined ? countPrepared(path) : undefined
    const state = frontier !== undefined ? stateOf(frontier) : prepared === undefined ? 'finished' : 'prepared'
    const command = place.command === undefined ? undefined : resumeCommand(place.name, place.command, frontier?.args)
    return { ...place, command, state, process: frontier?.process ?? runningProcess(path), frontier, prepared, error: undefined }
  } catch (error) {
    const unread = { frontier: undefined, prepared: undefined, error: messageOf(error) }
    return { ...place, ...unread, state: 'unreadable', process: runningProcess(path) }
  }
}

/** Files beside a frontier that were set aside, since they could not be gone on with. */
export function listSetAside(path: string): string[] {
  const frontiers = dirname(path)
  const files = filesIn(frontiers).map((file) => join(frontiers, file))
  return files.filter((file) => file.startsWith(`${path}.set-aside-`))
}

function stateOf({ process: id, endedAt, ending }: FrontierInspection): JobState {
  if (id !== undefined) return 'running'
  if (endedAt !== undefined) return 'finished'
  if (ending === undefined) return 'killed'
  if (ending === 'retry') return 'to retry'
  return ending === 'limit' || ending === 'blocked' || ending === 'failed' ? ending : 'stopped'
}

function listDemoPlaces(): JobPlace[] {
  const folder = demoFolder()
  const { settings } = loadSettings({ program: demoSettings(folder) })
  return listDemos(folder).map((name) => ({ name, path: pathOf(settings, name), settings, command: demoCommand(name) }))
}

function pathOf({ dataDir }: Settings, name: string): string {
  return join(resolve(dataDir), 'frontier', `${name}.db`)
}

function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : []
}
