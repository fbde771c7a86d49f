import { existsSync, readFileSync, statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { isAlive } from '../is-alive.ts'
import Database from 'libsql'
import { isCrawlError, messageOf, StorageError } from '../errors.ts'
import { state } from './embedded-schema.ts'
import type { OutcomeCount, SlotPause } from './frontier.ts'

/** What a frontier's file holds, read from beside: of a run that is going on, that was stopped, or that has ended. */
export interface FrontierInspection {
  /** The process that runs it at this moment. */
  readonly process: number | undefined
  /** ms since 1970. */
  readonly begunAt: number
  /** ms since 1970; undefined for a run that has not ended. */
  readonly endedAt: number | undefined
  /** When it was written last, ms since 1970. */
  readonly writtenAt: number
  /** Ready, or held by the process that runs it. */
  readonly pending: number
  /** Waiting for a later time. */
  readonly delayed: number
  /** ms since 1970 when the first of the delayed ones comes due. */
  readonly nextDueAt: number | undefined
  /** Given up and kept, by kind and reason. */
  readonly failures: readonly Omit<OutcomeCount, 'state'>[]
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
  if (!existsSync(path)) return undefined
  try {
    const database = openReadOnly(path)
    try {
      return read(database, path)
    } finally {
      database.close()
    }
  } catch (cause) {
    if (isCrawlError(cause)) throw cause
    throw new StorageError(`The frontier ${path} can't be read: ${messageOf(cause)}.`, { cause })
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
  // One moment of a crawl that goes on.
  database.exec('begin')
  const marks = new Map(all<{ name: string; value: string }>('select name, value from meta').map(({ name, value }) => [name, Date.parse(value)]))
  const begunAt = marks.get('begun')
  if (begunAt === undefined) return undefined
  const counts = all<{ state: number; count: number; due: number }>('select state, count(*) as count, min(due) as due from request group by state')
  const countOf = (...states: number[]) => counts.reduce((sum, row) => sum + (states.includes(row.state) ? row.count : 0), 0)
  return {
    process: runningProcess(path),
    begunAt,
    endedAt: marks.get('ended'),
    writtenAt: writtenAt(path),
    pending: countOf(state.pending, state.leased, state.suspect, state.alone),
    delayed: countOf(state.delayed),
    nextDueAt: counts.find((row) => row.state === state.delayed)?.due,
    failures: all(`select coalesce(body ->> 'kind', 'page') as kind, coalesce(reason, '') as reason, count(*) as count from request where state = ${state.failed} group by 1, 2`),
    outcomes: all('select kind, state, reason, count from outcome'),
    pauses: all('select slot, until from pause where until > ?', Date.now()),
  }
}

/** An empty log tells nothing: a reader may have made it. */
function writtenAt(path: string): number {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  return Math.max(statSync(path).mtimeMs, log === undefined || log.size === 0 ? 0 : log.mtimeMs)
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
