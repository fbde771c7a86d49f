import { randomBytes } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../is-alive.ts'
import { makeFolder } from '../make-folder.ts'

/** Folders of other machines, whose processes can't be asked, are left alone for so long. */
const foreignMs = 24 * 60 * 60 * 1000
const host = hostname().toLowerCase().replace(/[^a-z0-9]+/g, '_').slice(0, 60) || 'host'
/** Folders in use by this process: its number may be that of one that has died. */
const inUse = new Set<string>()

/**
 * A folder for the unfinished files of one process: several may share the folder around it. What a process that died
 * has left there is removed when the next one opens.
 */
export class TemporaryFolder {
  readonly path: string
  readonly #name: string
  #count = 0

  private constructor(parent: string, name: string) {
    this.path = join(parent, name)
    this.#name = name
  }

  static async open(parent: string): Promise<TemporaryFolder> {
    const name = `${host}-${process.pid}-${randomBytes(4).toString('hex')}`
    const folder = new TemporaryFolder(parent, name)
    makeFolder(folder.path)
    inUse.add(name)
    await removeStale(parent)
    return folder
  }

  /** A path that was not given before. */
  next(): string {
    return join(this.path, String(++this.#count))
  }

  async close(): Promise<void> {
    await rm(this.path, { recursive: true, force: true })
    inUse.delete(this.#name)
  }
}

async function removeStale(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!inUse.has(name) && (await isStale(parent, name))) await rm(join(parent, name), { recursive: true, force: true })
  }
}

async function isStale(parent: string, name: string): Promise<boolean> {
  const [, owner, pid] = /^(.+)-(\d+)-[0-9a-f]{8}$/.exec(name) ?? []
  if (owner === host && pid !== undefined) return Number(pid) === process.pid || !isAlive(Number(pid))
  const modifiedAt = await stat(join(parent, name)).then((stats) => stats.mtimeMs, () => 0)
  return Date.now() - modifiedAt > foreignMs
}
