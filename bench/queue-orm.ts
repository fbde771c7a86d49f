import { defineEntity, MikroORM, raw, type EntityManager, type InferEntity } from '@mikro-orm/libsql'
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

const Queued = defineEntity({
  name: 'Queued',
  tableName: 'queue',
  properties: (p) => ({
    seq: p.integer().primary().autoincrement(),
    slot: p.text(),
    priority: p.integer(),
    due: p.integer(),
    attempts: p.integer(),
    body: p.text(),
  }),
})

const Seen = defineEntity({
  name: 'Seen',
  tableName: 'seen',
  properties: (p) => ({ n: p.integer().primary().autoincrement(), fp: p.bigint('bigint') }),
})

const order = [{ priority: 'desc' }, { seq: 'asc' }] as const
const toQueued = (rows: readonly QueueRow[]) =>
  rows.map(({ slot, priority, due, body }) => ({ slot, priority, due, attempts: 0, body }))
const toSeen = (rows: readonly QueueRow[]) => rows.map(({ fingerprint }) => ({ fp: fingerprint }))
const oneMore = (): number => raw<object, number>('attempts + 1')

async function open(path: string): Promise<MikroORM> {
  const orm = await MikroORM.init({
    dbName: path,
    entities: [Queued, Seen],
    // The driver opens a new connection every ten seconds, so what belongs to a connection is set here.
    pool: {
      afterCreate: (connection: { exec(sql: string): void }, done: (error: Error | null, connection: unknown) => void) => {
        connection.exec(connectionSql)
        done(null, connection)
      },
    },
  })
  for (const sql of ['pragma journal_mode = wal', ...schemaSql]) await orm.em.getConnection().execute(sql)
  return orm
}

/** By `insertMany`, `find`, `nativeUpdate` and `nativeDelete`. */
export async function openEntityQueue(path: string): Promise<Queue> {
  const orm = await open(path)
  return {
    add: (rows) =>
      orm.em.fork().transactional(async (em) => {
        await em.insertMany<InferEntity<typeof Queued>>(Queued, toQueued(rows))
        await em.insertMany<InferEntity<typeof Seen>>(Seen, toSeen(rows))
      }),
    lease: (limit, now, until) =>
      orm.em.fork().transactional(async (em) => {
        const rows = await em.find(Queued, { due: { $lte: now } }, { orderBy: [...order], limit, disableIdentityMap: true })
        await em.nativeUpdate(Queued, { seq: rows.map(({ seq }) => seq) }, { attempts: oneMore(), due: until })
        return rows
      }),
    settle: async (leased) => void (await orm.em.fork().nativeDelete(Queued, { seq: leased.map(({ seq }) => seq) })),
    close: () => orm.close(),
  }
}

/** By the query builder, which gives plain rows. */
export async function openBuilderQueue(path: string): Promise<Queue> {
  const orm = await open(path)
  return {
    add: (rows) =>
      orm.em.fork().transactional(async (em) => {
        await em.createQueryBuilder(Queued).insert(toQueued(rows)).execute('run', false)
        await em.createQueryBuilder(Seen).insert(toSeen(rows)).execute('run', false)
      }),
    lease: (limit, now, until) =>
      orm.em.fork().transactional(async (em) => {
        const rows = await em
          .createQueryBuilder(Queued)
          .select(['seq', 'attempts', 'body'])
          .where({ due: { $lte: now } })
          .orderBy([...order])
          .limit(limit)
          .execute<LeasedRow[]>('all', false)
        const seqs = rows.map(({ seq }) => seq)
        await em.createQueryBuilder(Queued).update({ attempts: oneMore(), due: until }).where({ seq: seqs }).execute('run', false)
        return rows
      }),
    settle: async (leased) => {
      await orm.em.fork().createQueryBuilder(Queued).delete({ seq: leased.map(({ seq }) => seq) }).execute('run', false)
    },
    close: () => orm.close(),
  }
}

/** By plain SQL on MikroORM's connection, one statement for each batch and table. */
export async function openConnectionQueue(path: string): Promise<Queue> {
  const orm = await open(path)
  const runner = (em: EntityManager) => (sql: string, parameters: unknown[]) =>
    em.getConnection().execute(sql, parameters, 'all', em.getTransactionContext())
  return {
    add: (rows) =>
      orm.em.fork().transactional(async (em) => {
        await runner(em)(batchSql.addQueue, [encodeRows(rows)])
        await runner(em)(batchSql.addSeen, [encodeFingerprints(rows)])
      }),
    lease: (limit, now, until) =>
      orm.em.fork().transactional(async (em) => {
        const rows = (await runner(em)(batchSql.select, [now, limit])) as LeasedRow[]
        await runner(em)(batchSql.lease, [until, encodeSeqs(rows)])
        return rows
      }),
    settle: async (leased) => void (await runner(orm.em)(batchSql.settle, [encodeSeqs(leased)])),
    close: () => orm.close(),
  }
}
