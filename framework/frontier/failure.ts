import { messageOf, StorageError } from '../errors.ts'

/** What went wrong with the frontier's file, and what to do. */
export function storageError(error: unknown, path: string): StorageError {
  const text = messageOf(error)
  if (/full/i.test(text)) return new StorageError(`The disk is full: the frontier ${path} can't be written. Free some space, then run the same command again.`, { reason: 'disk is full', cause: error })
  if (/readonly|read-only|unable to open|EACCES|EPERM|EROFS/i.test(text)) {
    return new StorageError(`The frontier ${path} can't be written: ${text}. Check the rights of its folder, or set dataDir.`, { cause: error })
  }
  if (/not a database|malformed|corrupt/i.test(text)) return damaged(path, text, error)
  return new StorageError(`The frontier ${path} failed: ${text}.`, { cause: error })
}

/** A file that can't be gone on with, and was left as it is. */
export function damaged(path: string, what: string, cause?: unknown): StorageError {
  return unusable(path, `is damaged or no frontier: ${what}`, cause)
}

/** A file that this version can't go on with, and has left as it is. */
export function unusable(path: string, why: string, cause?: unknown): StorageError {
  const message = `The frontier ${path} ${why}. It was left as it is. With --fresh it is set aside and a new run begins; images that are kept stay known.`
  return new StorageError(message, { reason: 'unusable', ...(cause === undefined ? {} : { cause }) })
}
