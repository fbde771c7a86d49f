import { isCrawlError, messageOf, StorageError } from '../errors.ts'

/** Runs work on the folder; its failures say what to do. */
export async function storing<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw explain(error, folder)
  }
}

/** What a failure means and what to do about it. An error that isn't the file system's stays as it is. */
export function explain(error: unknown, folder: string): unknown {
  if (isCrawlError(error)) return error
  const { code = '' } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new StorageError(`The disk is full: the folder of images ${folder} can't be written. Free some space, then run the same command again; nothing is lost.`, { reason: 'disk is full', cause: error })
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || code === 'ENOTDIR' || code === 'EEXIST') {
    return new StorageError(`The folder of images ${folder} can't be written: ${messageOf(error)}. Check its rights, or set files to another folder.`, { cause: error })
  }
  if (code !== '') return new StorageError(`A file of the folder of images ${folder} can't be written or read: ${messageOf(error)}.`, { cause: error })
  return error
}
