import { join, resolve } from 'node:path'
import { DiskFiles } from './disk.ts'
import type { Files } from './files.ts'

export interface OpenFilesOptions {
  /** The setting `files`. */
  readonly files: string
  /** The setting `dataDir`. */
  readonly dataDir: string
}

/**
 * Opens the folder that the setting `files` names, `images` in the data folder when it is empty, and makes it when it
 * isn't there. Unfinished files are in its `.tmp`.
 * @throws StorageError when it can't be written.
 */
export async function openFiles({ files, dataDir }: OpenFilesOptions): Promise<Files> {
  const folder = resolve(files === '' ? join(dataDir, 'images') : files)
  return DiskFiles.open({ folder, tmpFolder: join(folder, '.tmp') })
}
