import { open, rename, stat } from 'node:fs/promises'

/**
 * Renames a file without ever overwriting another, on file systems that have no hard links: takes the new name first,
 * with an empty file. False when there is a file of that name.
 */
export async function renameExclusively(path: string, target: string): Promise<boolean> {
  try {
    await (await open(target, 'wx')).close()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // An empty one was left by a crash in between: no image is empty.
    if ((await stat(target)).size > 0) return false
  }
  await rename(path, target)
  return true
}
