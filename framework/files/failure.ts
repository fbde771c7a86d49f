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
    const what = `The disk is full: the folder of images ${folder} can't be written.`
    const advice = 'Free some space, then run the same command again; nothing is lost.'
    return new StorageError(`${what} ${advice}`, { reason: 'disk is full', cause: error })
  }
  if (code === '') return error
  const isRefused = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].includes(code)
  const advice = isRefused ? 'Check its rights, or set files to another folder.' : 'Is its disk all right?'
  const what = `The folder of images ${folder} can't be used: ${messageOf(error)}.`
  return new StorageError(`${what} ${advice}`, { reason: 'folder is unusable', cause: error })
}
