import type Database from 'libsql'

/** "orbf" in ASCII, in the header of every frontier file. */
export const applicationId = 0x6f726266
/** Of the tables; a file of another version isn't gone on with. */
export const version = 2

/**
 * States of a request's row. Requests that are done, ignored or dropped have none. A request in whose course the process
 * ended `shared` times is suspected to be what ends it: it is leased alone, after all others, and given up when the process
 * ends `alone` times then. So a request that kills the process ends as failed, and those that were beside it do not.
 */
export const state = { pending: 0, delayed: 1, leased: 2, failed: 3, suspect: 4, alone: 5 } as const
export const maxInterruptions = { shared: 3, alone: 2 } as const

/**
 * `seen` and `imported` are only appended to, and read once at the start, so that no random place of a growing tree is
 * written. `high` and `low` are the halves of the first 64 bits of a fingerprint, `high2` and `low2` of the next;
 * `at` is when it was met, in seconds since 1970, 0 when that does not matter.
 */
export const tables = `
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
create index request_held on request (state, slot, seq) where state >= 2;
create table seen (n integer primary key, high integer not null, low integer not null, high2 integer, low2 integer, host text, at integer not null);
create table imported (n integer primary key, high integer not null, low integer not null);
create table outcome (kind text, state text, reason text, count integer not null, primary key (kind, state, reason)) without rowid;
create table slot (slot text primary key, delay_ms integer not null, least_delay_ms integer not null, paused_until integer not null, reason text not null) without rowid;
pragma application_id = ${applicationId};
pragma user_version = ${version};
`

/** Of the arrays in a JSON array. */
function columns(count: number): string {
  return Array.from({ length: count }, (_, index) => `value ->> ${index}`).join(', ')
}

/** The state of a request that is to be leased again. */
const pendingOrSuspect = `iif(interruptions >= ${maxInterruptions.shared}, ${state.suspect}, ${state.pending})`

const row = 'seq, slot, priority, attempts, patience, interruptions, body'

const statements = {
  mark: 'insert into meta values (?, ?) on conflict do update set value = excluded.value',
  unmark: 'delete from meta where name = ?',
  insertSeen: `insert into seen (high, low, high2, low2, host, at) select ${columns(6)} from json_each(?)`,
  findSeen: 'select 1 from seen where high = ? and low = ? and high2 is ? and low2 is ? and at >= ? limit 1',
  expireSeen: 'delete from seen where n in (select n from (select n, at from seen order by n limit 2000) where at < ?)',
  insert: `insert into request (seq, slot, priority, body, state) select ${columns(4)}, ${state.pending} from json_each(?)`,
  select: `select ${row} from request where state = ${state.pending} and slot = ? order by priority desc, seq limit ?`,
  lease: `update request set state = ${state.leased} where seq in (select value from json_each(?))`,
  remove: 'delete from request where seq in (select value from json_each(?))',
  release: `update request set state = ${pendingOrSuspect} where seq = ?`,
  delay: `update request set state = ${state.delayed}, due = ?, attempts = attempts + ?, patience = patience + ?, reason = ? where seq = ?`,
  fail: `update request set state = ${state.failed}, attempts = attempts + 1, reason = ?, message = ? where seq = ?`,
  promote: `update request set state = ${pendingOrSuspect} where state = ${state.delayed} and due <= ?`,
  dueBySlot: `select slot, sum(interruptions < ${maxInterruptions.shared}) as pending, count(*) as count from request where state = ${state.delayed} and due <= ? group by slot`,
  nextDue: `select min(due) as due from request where state = ${state.delayed}`,
  leaseAlone: `update request set state = ${state.alone} where seq = ?`,
  suspects: `select min(seq) as seq, slot from request where state = ${state.suspect} group by slot order by 1`,
  find: `select ${row} from request where seq = ?`,
  countInterruption: `update request set interruptions = interruptions + 1 where state in (${state.leased}, ${state.alone})`,
  poison: `select ${row} from request where state = ${state.alone} and interruptions >= ${maxInterruptions.shared + maxInterruptions.alone}`,
  takeBack: `update request set state = ${pendingOrSuspect} where state in (${state.leased}, ${state.alone})`,
  pendingBySlot: `select slot, count(*) as count from request where state = ${state.pending} group by slot order by min(abs(seq))`,
  held: `select state, count(*) as count, min(due) as due from request where state in (${state.delayed}, ${state.failed}, ${state.suspect}) group by state`,
  lastSeq: 'select max(max(seq), -min(seq)) as seq from request',
  countOutcome: 'insert into outcome values (?, ?, ?, ?) on conflict do update set count = count + excluded.count',
  keepSlot: `insert into slot values (?, ?, ?, ?, ?) on conflict do update set delay_ms = excluded.delay_ms,
    least_delay_ms = excluded.least_delay_ms, paused_until = excluded.paused_until, reason = excluded.reason`,
  forgetSlot: 'delete from slot where slot = ?',
}

export type Statements = Readonly<Record<keyof typeof statements, Database.Statement>>

/** Every statement of the frontier, prepared once: libsql frees a statement late. */
export function prepareStatements(database: Database.Database): Statements {
  return Object.fromEntries(Object.entries(statements).map(([name, sql]) => [name, database.prepare(sql)])) as unknown as Statements
}

/** What is remembered of the run as a whole: dates as ISO 8601, numbers and JSON as text. */
export function readMeta(database: Database.Database): Map<string, string> {
  return new Map((database.prepare('select name, value from meta').all() as { name: string; value: string }[]).map(({ name, value }) => [name, value]))
}

/** A number in the header of the file. */
export function readPragma(database: Database.Database, name: 'application_id' | 'user_version'): number {
  return (database.prepare(`pragma ${name}`).raw().get() as [number])[0]
}

/** A new file, or one whose process ended before it had made the tables. */
export function isEmpty(database: Database.Database): boolean {
  return readPragma(database, 'application_id') === 0 && database.prepare('select 1 from sqlite_master').get() === undefined
}

/** libsql frees statements late, and a connection that was closed before keeps its transaction until then. */
export function endTransaction(database: Database.Database): void {
  if (database.inTransaction) database.exec('rollback')
}
