import { constants } from 'node:fs'
import { access, copyFile, link, open, rm, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Coalesced } from '../async/coalesced.ts'
import { StorageError } from '../errors.ts'
import { makeFolder } from '../make-folder.ts'
import { storing } from './failure.ts'
import type { Files } from './files.ts'
import { checkKey } from './key.ts'
import { renameExclusively } from './rename-exclusively.ts'
import { sameContent } from './same-content.ts'
import { TemporaryFolder } from './temporary-folder.ts'

export interface DiskFilesOptions {
  /** Folder of the images; made when it isn't there. */
  readonly folder: string
  /** Folder of unfinished files, on the same volume. */
  readonly tmpFolder: string
}

/** Folders whose entries are known to be on disk are remembered, up to so many. */
const maxRemembered = 1_000
/** File systems without hard links: exFAT, many network shares. */
const noLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EMLINK'])

/** Files in a folder. A file is there whole, under its final name and on disk, or not at all. */
export class DiskFiles implements Files {
  readonly #folder: string
  readonly #temporary: TemporaryFolder
  readonly #made = new Set<string>()
  readonly #folderSyncs = new Coalesced((folder) => sync(folder, 'r'))

  private constructor(folder: string, temporary: TemporaryFolder) {
    this.#folder = folder
    this.#temporary = temporary
  }

  /** @throws StorageError when the folder can't be written. */
  static async open({ folder, tmpFolder }: DiskFilesOptions): Promise<DiskFiles> {
    return storing(folder, async () => {
      makeFolder(folder)
      await access(folder, constants.W_OK)
      return new DiskFiles(folder, await TemporaryFolder.open(tmpFolder))
    })
  }

  temporaryPath(): string {
    return this.#temporary.next()
  }

  async put(path: string, key: string, signal: AbortSignal): Promise<void> {
    checkKey(key)
    signal.throwIfAborted()
    const target = this.locate(key)
    await storing(this.#folder, async () => {
      await sync(path, 'r+')
      await this.#makeFolder(dirname(target))
      if (await this.#place(path, target)) await this.#folderSyncs.run(dirname(target))
      else await takeForSame(path, target)
    })
  }

  async has(key: string): Promise<boolean> {
    checkKey(key)
    return storing(this.#folder, () => exists(this.locate(key)))
  }

  async delete(key: string): Promise<void> {
    checkKey(key)
    await storing(this.#folder, () => rm(this.locate(key), { force: true }))
  }

  locate(key: string): string {
    return key === '' ? this.#folder : join(this.#folder, ...key.split('/'))
  }

  async close(): Promise<void> {
    await this.#temporary.close()
  }

  async #makeFolder(folder: string): Promise<void> {
    if (this.#made.has(folder)) return
    const first = makeFolder(folder)
    const length = first?.length ?? Infinity
    for (let made = folder; made.length >= length; made = dirname(made)) await sync(dirname(made), 'r')
    if (this.#made.size >= maxRemembered) this.#made.clear()
    this.#made.add(folder)
  }

  /** Gives the file its name, unless there is a file of that name: then it answers false. */
  async #place(path: string, target: string): Promise<boolean> {
    try {
      await link(path, target)
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (code === 'EEXIST') return false
      if (code === 'EXDEV') return this.#placeFromElsewhere(path, target)
      if (noLinks.has(code)) return renameExclusively(path, target)
      if (code === 'ENOENT' && this.#made.delete(dirname(target)) && (await exists(path))) {
        await this.#makeFolder(dirname(target))
        return this.#place(path, target)
      }
      throw error
    }
    await unlink(path)
    return true
  }

  /** A pipeline may hand in a file of another volume. */
  async #placeFromElsewhere(path: string, target: string): Promise<boolean> {
    const copy = this.#temporary.next()
    try {
      await copyFile(path, copy)
      await sync(copy, 'r+')
      if (!(await this.#place(copy, target))) return false
      await unlink(path)
      return true
    } finally {
      await rm(copy, { force: true })
    }
  }
}

/** The file is there: fine when it holds the same bytes, as after a crash before its row was written. */
async function takeForSame(path: string, target: string): Promise<void> {
  if (!(await sameContent(path, target))) {
    const advice = 'It was left as it is: move it away, or set files to another folder.'
    throw new StorageError(`There is another file at ${target}. ${advice}`, { reason: 'another file is there' })
  }
  await sync(target, 'r+')
  await sync(dirname(target), 'r')
  await rm(path, { force: true })
}

/** Waits until a file's bytes, or a folder's entries, are on disk. */
async function sync(path: string, flags: 'r' | 'r+'): Promise<void> {
  const isFolder = flags === 'r'
  // Windows can't open folders; its file system journals their entries.
  if (isFolder && process.platform === 'win32') return
  const file = await open(path, flags)
  try {
    await (isFolder ? file.sync() : file.datasync())
  } finally {
    await file.close()
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
