import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder with those above it that are missing, and answers the first that it has made; undefined when it was there.
 * Node's own `recursive` tries for ever where the system refuses a folder in one that exists with "no such file", as /proc does.
 * @throws an error of the file system.
 */
export function makeFolder(path: string): string | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return undefined
  const parent = dirname(path)
  const first = parent === path ? undefined : makeFolder(parent)
  try {
    mkdirSync(path)
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
    return first
  }
  return first ?? path
}
