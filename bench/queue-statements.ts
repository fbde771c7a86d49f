import Database from 'libsql'
import {
  batchSql,
  connectionSql,
  encodeFingerprints,
  encodeRows,
  encodeSeqs,
  schemaSql,
  type LeasedRow,
  type Queue,
  type QueueRow,
} from './queue-rows.ts'

function open(path: string): Database.Database {
  const database = new Database(path)
  database.exec(`pragma journal_mode = wal; ${connectionSql}`)
  for (const sql of schemaSql) database.exec(sql)
  return database
}

/** By a statement for each row, prepared once and used again; with `reuse` false prepared for each row, as a control. */
export function openPreparedQueue(path: string, { reuse }: { readonly reuse: boolean }): Queue {
  const database = open(path)
  const prepare = (sql: string): (() => Database.Statement) => {
    if (!reuse) return () => database.prepare(sql)
    const statement = database.prepare(sql)
    return () => statement
  }
  const insert = prepare('insert into queue (slot, priority, due, attempts, body) values (?, ?, ?, 0, ?)')
  const insertSeen = prepare('insert into seen (fp) values (?)')
  const select = prepare(batchSql.select)
  const update = prepare('update queue set attempts = attempts + 1, due = ? where seq = ?')
  const remove = prepare('delete from queue where seq = ?')

  const add = database.transaction((rows: readonly QueueRow[]) => {
    for (const { slot, priority, due, body, fingerprint } of rows) {
      insert().run(slot, priority, due, body)
      insertSeen().run(fingerprint)
    }
  })
  const lease = database.transaction((limit: number, now: number, until: number) => {
    const rows = select().all(now, limit) as LeasedRow[]
    for (const { seq } of rows) update().run(until, seq)
    return rows
  })
  const settle = database.transaction((leased: readonly LeasedRow[]) => {
    for (const { seq } of leased) remove().run(seq)
  })

  return {
    add: async (rows) => add.immediate(rows),
    lease: async (limit, now, until) => lease.immediate(limit, now, until),
    settle: async (leased) => settle.immediate(leased),
    close: async () => void database.close(),
  }
}

/** By one statement for each batch and table, prepared once. */
export function openJsonQueue(path: string): Queue {
  const database = open(path)
  const addQueue = database.prepare(batchSql.addQueue)
  const addSeen = database.prepare(batchSql.addSeen)
  const select = database.prepare(batchSql.select)
  const update = database.prepare(batchSql.lease)
  const remove = database.prepare(batchSql.settle)

  const add = database.transaction((rows: readonly QueueRow[]) => {
    addQueue.run(encodeRows(rows))
    addSeen.run(encodeFingerprints(rows))
  })
  const lease = database.transaction((limit: number, now: number, until: number) => {
    const rows = select.all(now, limit) as LeasedRow[]
    update.run(until, encodeSeqs(rows))
    return rows
  })

  return {
    add: async (rows) => add.immediate(rows),
    lease: async (limit, now, until) => lease.immediate(limit, now, until),
    settle: async (leased) => void remove.run(encodeSeqs(leased)),
    close: async () => void database.close(),
  }
}
