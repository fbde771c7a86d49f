import { existsSync, rmSync, statSync } from 'node:fs'
import { StorageError } from '../errors.ts'
import { writtenAt } from './inspect.ts'
import { lockFrontier } from './lock.ts'
import { fileSuffixes } from './open-file.ts'

export interface RemoveJobOptions {
  /** The frontier's file, which need not be there. */
  readonly path: string
  /** When it was written last, as it was looked at; undefined when it could not be. */
  readonly writtenAt: number | undefined
  /** Files that were set aside. */
  readonly setAside: readonly string[]
}

/**
 * Removes what there is of a job, and answers how many bytes that gives back.
 * @throws StorageError when a process runs it, or has worked on it since it was looked at.
 */
export function removeJob({ path, writtenAt: seenAt, setAside }: RemoveJobOptions): number {
  const lock = lockFrontier(path)
  try {
    if (seenAt !== undefined && existsSync(path) && writtenAt(path) !== seenAt) {
      const what = `The frontier ${path} was written as it was about to be removed. It was left as it is.`
      throw new StorageError(what, { reason: 'in use' })
    }
    // The lock's own file goes last, and while it is held: a process that comes then makes another.
    return removeFiles([...setAside, ...[...fileSuffixes, '.lock'].map((suffix) => path + suffix)])
  } finally {
    lock.release()
  }
}

/** Removes files that need not be there, and answers how many bytes that gives back. */
export function removeFiles(files: readonly string[]): number {
  let bytes = 0
  for (const file of files) {
    bytes += statSync(file, { throwIfNoEntry: false })?.size ?? 0
    rmSync(file, { force: true })
  }
  return bytes
}
