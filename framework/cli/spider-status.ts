import { join, resolve } from 'node:path'
import { messageOf } from '../errors.ts'
import { inspectFrontier, type FrontierInspection } from '../frontier/inspect.ts'
import type { Settings } from '../settings/schema.ts'
import type { StatusCount } from '../store/store.ts'
import { parseAddress } from '../store/address.ts'
import { resumeCommand } from './command-line.ts'
import { countStoredImages } from './stored-images.ts'

/** What there is of a spider's crawls. */
export interface SpiderStatus {
  readonly name: string
  /** `never run` also for one whose frontier was removed. */
  readonly state: 'running' | 'stopped' | 'finished' | 'never run' | 'unreadable'
  readonly frontier: FrontierInspection | undefined
  readonly images: readonly StatusCount[]
  /** Folder of the images. */
  readonly files: string
  /** Without a password. */
  readonly database: string
  /** What goes on with it, or crawls again. */
  readonly command: string
  /** What is wrong with the spider's file, if it can't be loaded. */
  readonly problem?: string
  /** What could not be read, and why. */
  readonly errors: readonly string[]
}

/** Reads frontier and database from beside: a crawl that is running isn't disturbed. What can't be read is said, not thrown. */
export async function readSpiderStatus(name: string, settings: Settings, command: string): Promise<SpiderStatus> {
  const dataDir = resolve(settings.dataDir)
  const errors: string[] = []
  const attempt = async <T>(read: () => T | Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await read()
    } catch (error) {
      errors.push(messageOf(error))
      return otherwise
    }
  }
  const frontier = await attempt(() => inspectFrontier(join(dataDir, 'frontier', `${name}.db`)), undefined)
  const isUnread = errors.length > 0
  const images = await attempt(() => countStoredImages(settings, name), [])
  const database = await attempt(() => parseAddress(settings.database, dataDir).location, '')
  const files = resolve(settings.files === '' ? join(dataDir, 'images') : settings.files)
  const state = isUnread ? 'unreadable' : stateOf(frontier)
  return { name, state, frontier, images, files, database, command: resumeCommand(name, command, frontier?.args), errors }
}

function stateOf(frontier: FrontierInspection | undefined): SpiderStatus['state'] {
  if (frontier === undefined) return 'never run'
  if (frontier.process !== undefined) return 'running'
  return frontier.endedAt === undefined ? 'stopped' : 'finished'
}
