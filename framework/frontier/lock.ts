import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'libsql'
import { messageOf, StorageError } from '../errors.ts'
import { isAlive } from '../is-alive.ts'
import { makeFolder } from '../make-folder.ts'
import { storageError } from './failure.ts'

/** The right to run a frontier alone. */
export interface FrontierLock {
  /** True when the process that had it before ended without giving it back. */
  readonly wasAbandoned: boolean
  /** @param isSound the file was closed in order; else the next process is told that this one abandoned it. Default true. */
  release(isSound?: boolean): void
}

/**
 * Takes the right to run this frontier alone, by a lock that the operating system gives up when the process ends in
 * whatever way.
 * @throws StorageError naming the process that has it.
 */
export function lockFrontier(path: string): FrontierLock {
  const pidPath = `${path}.pid`
  let lock: Database.Database
  try {
    makeFolder(dirname(path))
    lock = new Database(`${path}.lock`, { timeout: 0 })
  } catch (error) {
    throw storageError(error, path)
  }
  try {
    lock.exec('pragma busy_timeout = 0; begin exclusive')
  } catch (error) {
    lock.close()
    if (!/locked|busy/i.test(messageOf(error))) throw storageError(error, path)
    const pid = existsSync(pidPath) ? readFileSync(pidPath, 'utf8').trim() : 'unknown'
    throw new StorageError(`The frontier ${path} is in use by process ${pid}. Only one process may run a spider on SQLite; wait for it or stop it.`, { reason: 'in use' })
  }
  const wasAbandoned = existsSync(pidPath)
  try {
    writeFileSync(pidPath, `${process.pid}\n`)
  } catch (error) {
    lock.close()
    throw storageError(error, path)
  }
  const release = (isSound = true) => {
    if (isSound) rmSync(pidPath, { force: true })
    lock.exec('rollback')
    lock.close()
  }
  return { wasAbandoned, release }
}

/** The process that a frontier's file names as its own, unless it has ended: a number may be given to another process. */
export function runningProcess(path: string): number | undefined {
  if (!existsSync(`${path}.pid`) || !existsSync(`${path}.lock`)) return undefined
  const id = Number(readFileSync(`${path}.pid`, 'utf8'))
  return id > 0 && isAlive(id) && holdsLock(`${path}.lock`) ? id : undefined
}

/** Whether anybody holds a lock of this file, as Linux tells; elsewhere it can't be asked without taking it, and is assumed. */
function holdsLock(path: string): boolean {
  if (!existsSync('/proc/locks')) return true
  return readFileSync('/proc/locks', 'utf8').includes(`:${statSync(path).ino} `)
}
