import { existsSync, statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import Database from 'libsql'
import { isCrawlError } from '../errors.ts'
import { storageError, unusable } from './failure.ts'
import type { OutcomeCount } from './frontier.ts'
import { runningProcess } from './lock.ts'
import { fileSuffixes } from './open-file.ts'
import { applicationId, endTransaction, isEmpty, readMeta, readPragma, state, version } from './tables.ts'

/** A pause that a host has asked for. */
export interface SlotPause {
  readonly slot: string
  /** ms since 1970. */
  readonly until: number
}

/** How many requests were given up for one reason. */
export type FailureCount = Omit<OutcomeCount, 'state'>

/** What a frontier's file holds, read from beside: of a run that is going on, that was stopped, or that has ended. */
export interface FrontierInspection {
  /** The process that runs it at this moment. */
  readonly process: number | undefined
  /** ms since 1970. */
  readonly begunAt: number
  /** ms since 1970; undefined for a run that has not ended. */
  readonly endedAt: number | undefined
  /** How the last process ended its part of it, such as `limit` or `finished`; undefined while it runs, or when it was killed. */
  readonly ending: string | undefined
  /** When it was written last, ms since 1970. */
  readonly writtenAt: number
  /** What the spider was given with `-a` at the last start; passwords and the like are `***`. */
  readonly args: Readonly<Record<string, string>>
  /** Of its files. */
  readonly bytes: number
  /** Different requests that it has met. */
  readonly met: number
  /** Ready, or held by the process that runs it. */
  readonly pending: number
  /** Waiting for a later time. */
  readonly delayed: number
  /** ms since 1970 when the first of the delayed ones comes due. */
  readonly nextDueAt: number | undefined
  /** Given up and kept, by kind and reason. */
  readonly failures: readonly FailureCount[]
  readonly outcomes: readonly OutcomeCount[]
  /** Hosts that have asked for a pause that isn't over. */
  readonly pauses: readonly SlotPause[]
}

/**
 * Reads the frontier at `path` without writing to it, without taking its lock, and without keeping its process waiting.
 * Undefined when there is none.
 * @throws StorageError when it can't be read or is no frontier.
 */
export function inspectFrontier(path: string): FrontierInspection | undefined {
  return existsSync(path) ? readFrom(path, (database) => read(database, path)) : undefined
}

/**
 * How many fingerprints were imported for a run that has not begun. Undefined when `path` holds something else in which
 * `inspectFrontier` finds no run: one of another version that has ended.
 * @throws StorageError when it can't be read or is no frontier.
 */
export function countPrepared(path: string): number | undefined {
  return readFrom(path, (database) => {
    if (isEmpty(database)) return 0
    if (!isOwn(database, path) || readMeta(database).has('begun')) return undefined
    const count = 'select (select count(*) from seen) + (select count(*) from imported) as count'
    return (database.prepare(count).get() as { count: number }).count
  })
}

const selectFailures = `select coalesce(case when json_valid(body) then body ->> 'kind' end, 'page') as kind,
  coalesce(reason, '') as reason, count(*) as count from request where state = ${state.failed} and coalesce(?, reason) is reason group by 1, 2`

/** Requests that were given up, by kind and reason; only those with `reason` when it is given. */
export function countFailures(database: Database.Database, reason: string | null = null): FailureCount[] {
  return database.prepare(selectFailures).all([reason]) as FailureCount[]
}

/** Reads a frontier's file by `read`, from one moment of a run that may go on. */
export function readFrom<Result>(path: string, read: (database: Database.Database) => Result): Result {
  try {
    const database = openReadOnly(path)
    try {
      database.exec('begin')
      return read(database)
    } finally {
      endTransaction(database)
      database.close()
    }
  } catch (cause) {
    if (isCrawlError(cause)) throw cause
    throw storageError(cause, path)
  }
}

/** Opens a SQLite file that is there, for reading: it can't be written by this connection. */
export function openReadOnly(path: string): Database.Database {
  // Without a log beside it nobody has it open, and it can be read without making one.
  const mode = existsSync(`${path}-wal`) ? 'mode=ro' : 'immutable=1'
  return new Database(`${pathToFileURL(path).href}?${mode}`, { timeout: 2_000 })
}

function read(database: Database.Database, path: string): FrontierInspection | undefined {
  const all = <Row>(sql: string, ...values: unknown[]) => database.prepare(sql).all(...values) as Row[]
  if (isEmpty(database)) return undefined
  const meta = isOwn(database, path) ? readMeta(database) : undefined
  const begun = meta?.get('begun')
  if (meta === undefined || begun === undefined) return undefined
  const ended = meta.get('ended')
  const ending = meta.get('ending')
  const counts = all<{ state: number; count: number; due: number }>('select state, count(*) as count, min(due) as due from request group by state')
  const countOf = (...states: number[]) => counts.reduce((sum, row) => sum + (states.includes(row.state) ? row.count : 0), 0)
  return {
    process: runningProcess(path),
    begunAt: Date.parse(begun),
    endedAt: ended === undefined ? undefined : Date.parse(ended),
    args: readArguments(meta.get('identity')),
    ending: ending === undefined ? undefined : (JSON.parse(ending) as { reason: string }).reason,
    writtenAt: writtenAt(path),
    bytes: fileSuffixes.reduce((sum, suffix) => sum + (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0), 0),
    met: all<{ last: number | null }>('select max(n) as last from seen')[0]?.last ?? 0,
    pending: countOf(state.pending, state.leased, state.suspect, state.alone),
    delayed: countOf(state.delayed),
    nextDueAt: counts.find((row) => row.state === state.delayed)?.due,
    failures: countFailures(database),
    outcomes: all('select kind, state, reason, count from outcome'),
    pauses: all('select slot, paused_until as until from slot where paused_until > ?', Date.now()),
  }
}

function readArguments(identity = '{}'): Record<string, string> {
  const { args = {} } = JSON.parse(identity) as { args?: Record<string, string> }
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, /pass|secret|token|key|auth/i.test(name) ? '***' : value]))
}

/**
 * When a frontier was written last, ms since 1970.
 * @throws an error of the file system when there is none.
 */
export function writtenAt(path: string): number {
  // An empty log tells nothing: a reader may have made it.
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  return Math.round(Math.max(statSync(path).mtimeMs, log === undefined || log.size === 0 ? 0 : log.mtimeMs))
}

/**
 * False for a run of another version that has ended: the next one begins anew.
 * @throws StorageError when it is no frontier, or one that only another version can go on with.
 */
export function isOwn(database: Database.Database, path: string): boolean {
  if (readPragma(database, 'application_id') !== applicationId) throw unusable(path, 'is a file of something else')
  const found = readPragma(database, 'user_version')
  if (found === version) return true
  if (readMeta(database).has('ended')) return false
  throw unusable(path, `was made by another version of orbweaver (format ${found}, this one has ${version}): that one can go on with it`)
}
