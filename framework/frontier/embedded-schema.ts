import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'libsql'
import { messageOf, StorageError } from '../errors.ts'
import { storageError } from './group-commit.ts'

/** "orbf" in ASCII, in the header of every frontier file. */
const applicationId = 0x6f726266
const version = 1

/**
 * States of a request's row. Requests that are done, ignored or dropped have none. A request in whose course the process
 * ended `shared` times is suspected to be what ends it: it is leased alone, after all others, and given up when the process
 * ends `alone` times then. So a request that kills the process ends as failed, and those that were beside it do not.
 */
export const state = { pending: 0, delayed: 1, leased: 2, failed: 3, suspect: 4, alone: 5 } as const
export const maxInterruptions = { shared: 3, alone: 2 } as const

const tables = `
create table meta (name text primary key, value text not null) without rowid;
create table request (
  seq integer primary key,
  slot text not null,
  priority integer not null,
  state integer not null,
  due integer not null default 0,
  attempts integer not null default 0,
  patience integer not null default 0,
  interruptions integer not null default 0,
  reason text,
  message text,
  body text not null);
create index request_pending on request (slot, priority desc, seq) where state = 0;
create index request_delayed on request (due) where state = 1;
create index request_held on request (state) where state >= 2;
create table seen (n integer primary key, high integer not null, low integer not null);
create table outcome (kind text, state text, reason text, count integer not null, primary key (kind, state, reason)) without rowid;
create table pause (slot text primary key, until integer not null) without rowid;
pragma application_id = ${applicationId};
pragma user_version = ${version};
`

/**
 * Opens or makes the frontier's file.
 * @throws StorageError when it can't be written, is damaged, is no frontier, or comes from a newer version; it is left as it was.
 */
export function openDatabase(path: string): Database.Database {
  try {
    mkdirSync(dirname(path), { recursive: true })
    const database = new Database(path, { timeout: 5_000 })
    try {
      database.exec('pragma busy_timeout = 5000')
      const found = pragma(database, 'application_id')
      const isNew = found === 0 && database.prepare('select count(*) as count from sqlite_master').raw().get()?.toString() === '0'
      if (!isNew) checkOwn(path, found, pragma(database, 'user_version'))
      database.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 2000')
      if (isNew) database.exec(`begin; ${tables} commit;`)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    throw error instanceof StorageError ? error : storageError(error, path)
  }
}

const statements = {
  mark: 'insert or ignore into meta values (?, ?)',
  insertSeen: 'insert into seen (high, low) values (?, ?)',
  insert: `insert into request (slot, priority, state, body) values (?, ?, ${state.pending}, ?)`,
  select: `select seq, attempts, patience, interruptions, body from request where state = ${state.pending} and slot = ? order by priority desc, seq limit ?`,
  lease: `update request set state = ${state.leased} where seq = ?`,
  remove: 'delete from request where seq = ?',
  release: `update request set state = ${state.pending} where seq = ?`,
  delay: `update request set state = ${state.delayed}, due = ?, attempts = attempts + ?, patience = patience + ?, reason = ? where seq = ?`,
  fail: `update request set state = ${state.failed}, attempts = attempts + 1, reason = ?, message = ? where seq = ?`,
  promote: `update request set state = ${state.pending} where state = ${state.delayed} and due <= ?`,
  dueBySlot: `select slot, count(*) as count from request where state = ${state.delayed} and due <= ? group by slot`,
  nextDue: `select min(due) as due from request where state = ${state.delayed}`,
  leaseAlone: `update request set state = ${state.alone} where seq = ?`,
  suspects: `select seq, attempts, patience, interruptions, body from request where state = ${state.suspect} order by seq limit 100`,
  countInterruption: `update request set interruptions = interruptions + 1 where state in (${state.leased}, ${state.alone})`,
  poison: `select seq, attempts, patience, interruptions, body from request where state = ${state.alone} and interruptions >= ${maxInterruptions.shared + maxInterruptions.alone}`,
  takeBack: `update request set state = iif(interruptions >= ${maxInterruptions.shared}, ${state.suspect}, ${state.pending}) where state in (${state.leased}, ${state.alone})`,
  pendingBySlot: `select slot, count(*) as count from request where state = ${state.pending} group by slot order by min(seq)`,
  held: `select state, count(*) as count, min(due) as due from request where state in (${state.delayed}, ${state.failed}, ${state.suspect}) group by state`,
  countOutcome: 'insert into outcome values (?, ?, ?, 1) on conflict do update set count = count + 1',
  pause: 'insert into pause values (?, ?) on conflict do update set until = max(until, excluded.until)',
}

export type Statements = Readonly<Record<keyof typeof statements, Database.Statement>>

/** Every statement of the frontier, prepared once: libsql frees a statement late. */
export function prepareStatements(database: Database.Database): Statements {
  return Object.fromEntries(Object.entries(statements).map(([name, sql]) => [name, database.prepare(sql)])) as unknown as Statements
}

function checkOwn(path: string, found: number, foundVersion: number): void {
  if (found !== applicationId) throw new StorageError(`${path} is no frontier of orbweaver. Move it away, or set another dataDir.`)
  if (foundVersion > version) throw new StorageError(`${path} was made by a newer orbweaver (format ${foundVersion}, this one knows ${version}). Update orbweaver, or move the file away.`)
}

function pragma(database: Database.Database, name: string): number {
  const rows = database.pragma(name) as Record<string, number>[] | number
  return typeof rows === 'number' ? rows : Number(Object.values(rows[0] ?? { value: 0 })[0])
}

/** Removes the file of a run that has ended, so that the next begins anew. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}

/**
 * Takes the right to run this frontier alone, by a lock that the operating system gives up when the process ends in
 * whatever way. Answers the function that gives it back.
 * @throws StorageError naming the process that has it.
 */
export function lockFrontier(path: string): () => void {
  const pidPath = `${path}.pid`
  let lock: Database.Database
  try {
    mkdirSync(dirname(path), { recursive: true })
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
  try {
    writeFileSync(pidPath, `${process.pid}\n`)
  } catch (error) {
    lock.close()
    throw storageError(error, path)
  }
  return () => {
    rmSync(pidPath, { force: true })
    lock.exec('rollback')
    lock.close()
  }
}
