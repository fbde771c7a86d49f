import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'libsql'
import { messageOf, StorageError } from '../errors.ts'
import type { Log } from '../log.ts'
import { makeFolder } from '../make-folder.ts'
import { damaged, storageError, unusable } from './failure.ts'
import { applicationId, endTransaction, isEmpty, readMeta, readPragma, tables, version } from './tables.ts'

export interface OpenFileOptions {
  /** The SQLite file. */
  readonly path: string
  /** Begin a new run even if the last one has not ended. */
  readonly fresh: boolean
  /** True when its last process ended without closing it: then its pages are checked. */
  readonly wasAbandoned: boolean
  /** `full`: each commit waits for the disk, and survives a power cut. */
  readonly synchronous: 'normal' | 'full'
  readonly log: Log
}

/** Pages of 4 kB that the log holds before they are written to their places: of many hosts, each is changed often until then. */
const checkpointPages = 8_000
/** kiB of the file in memory. */
const cacheSize = 16_000

/** The files of a frontier: itself, and what SQLite keeps beside it. */
export const fileSuffixes = ['', '-wal', '-shm'] as const

/**
 * Opens the frontier's file to go on with its run, or makes one for a new run.
 * @throws StorageError when it can't be written, is damaged, is no frontier, or comes from another version; it is left as it was.
 */
export function openFile(options: OpenFileOptions): Database.Database {
  const { path, fresh } = options
  try {
    makeFolder(dirname(path))
    if (fresh) makeWay(options)
    let database = connect(options)
    if (readMeta(database).has('ended')) {
      database.close()
      removeFrontier(path)
      database = connect(options)
    }
    return database
  } catch (error) {
    throw error instanceof StorageError ? error : storageError(error, path)
  }
}

function connect({ path, wasAbandoned, synchronous }: OpenFileOptions): Database.Database {
  const database = new Database(path, { timeout: 5_000 })
  try {
    database.exec('pragma busy_timeout = 5000')
    const isNew = isEmpty(database)
    if (!isNew) check(database, path, wasAbandoned)
    database.exec(`pragma journal_mode = wal; pragma synchronous = ${synchronous}; pragma wal_autocheckpoint = ${checkpointPages}; pragma cache_size = -${cacheSize}`)
    if (isNew) database.exec(`begin; ${tables} commit;`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Closes a frontier's file. libSQL keeps the log of a connection that is closed, and the file alone shall hold the run: where
 * that can't be done, for want of room, log and file together still hold it.
 */
export function closeFile(database: Database.Database, path: string, log: Log): void {
  try {
    endTransaction(database)
    database.exec('pragma wal_checkpoint(truncate)')
  } catch (error) {
    log.warn({ path, error }, `the log of the frontier ${path} stays beside it: ${messageOf(error)}`)
  } finally {
    database.close()
  }
}

function check(database: Database.Database, path: string, wasAbandoned: boolean): void {
  if (readPragma(database, 'application_id') !== applicationId) throw unusable(path, 'is a file of something else')
  const found = readPragma(database, 'user_version')
  if (found > version) throw unusable(path, `was made by a newer orbweaver (format ${found}, this one knows ${version}): update orbweaver to go on with it`)
  if (found < version && !readMeta(database).has('ended')) {
    throw unusable(path, `was made by an older orbweaver (format ${found}, this one has ${version}): that version can go on with it`)
  }
  if (!wasAbandoned) return
  const [problem] = database.prepare('pragma quick_check(1)').raw().all() as [string][]
  if (problem !== undefined && problem[0] !== 'ok') throw damaged(path, problem[0])
}

/** Removes a run that can be read; what can't be is another's, or worth a look, and is set aside. */
function makeWay({ path, log }: OpenFileOptions): void {
  if (!existsSync(path)) return
  try {
    connect({ path, log, fresh: false, wasAbandoned: false, synchronous: 'normal' }).close()
    removeFrontier(path)
  } catch (error) {
    if (!(error instanceof StorageError ? error : storageError(error, path)).reason.startsWith('unusable')) throw error
    const aside = `${path}.set-aside-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`
    for (const suffix of fileSuffixes) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix)
    log.warn({ path, aside }, `the frontier ${path} could not be gone on with; it is set aside as ${aside}`)
  }
}

/** Removes the file of a run. */
export function removeFrontier(path: string): void {
  for (const suffix of fileSuffixes) rmSync(path + suffix, { force: true })
}
