import type Database from 'libsql'
import { isCrawlError } from '../errors.ts'
import { silentLog } from '../log.ts'
import { storageError } from './failure.ts'
import { lockFrontier } from './lock.ts'
import { closeFile, openFile } from './open-file.ts'

/**
 * Works on the frontier at `path` while no process runs it. `prepare` is called before it is opened, and may answer that there
 * is nothing to do; then the answer is undefined. A run that has ended is removed as it is opened, and a new one begins.
 * @throws StorageError when a process runs it, or it can't be written.
 */
export async function editFile<T>(path: string, edit: (database: Database.Database) => T | Promise<T>, prepare = (): boolean => true): Promise<T | undefined> {
  const lock = lockFrontier(path)
  try {
    if (!prepare()) return undefined
    const database = openFile({ path, fresh: false, wasAbandoned: lock.wasAbandoned, synchronous: 'full', log: silentLog })
    try {
      return await edit(database)
    } finally {
      closeFile(database, path, silentLog)
    }
  } catch (error) {
    throw isCrawlError(error) ? error : storageError(error, path)
  } finally {
    // The next crawl must learn that a process has abandoned it: what it had leased is suspect.
    lock.release(!lock.wasAbandoned)
  }
}
