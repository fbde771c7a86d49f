import { dirname } from 'node:path'
import type { MikroORM, Options } from '@mikro-orm/core'
import type { AbstractSqlDriver, SqlEntityManager } from '@mikro-orm/libsql'
import type Database from 'libsql'
import { messageOf, StorageError } from '../errors.ts'
import { makeFolder } from '../make-folder.ts'
import type { Address } from './address.ts'
import { ImageSchema, SchemaVersionSchema } from './entities.ts'

/** MikroORM on one of the two dialects. */
export type Orm = MikroORM<AbstractSqlDriver, SqlEntityManager>

/** Commits survive a crash of the process; a power cut may take back the last ones, which are then harvested again. */
const pragmas = 'pragma busy_timeout = 5000; pragma journal_mode = wal; pragma synchronous = normal'

/** Milliseconds for a connection to PostgreSQL, and for one statement, which takes longer only when the network is gone. */
const connectMs = 10_000
const statementMs = 120_000
/** Connections to PostgreSQL at once. */
const maxConnections = 6

/** The query builder would write to the console what the store reports itself. */
const silent = { debug() {}, deprecate() {}, warn() {}, error() {} }

/** Sets MikroORM up for a database, loading only the driver that it needs. Nothing is connected before the first query. */
export async function connect(address: Address): Promise<Orm> {
  if (address.dialect === 'postgresql') {
    const { PostgreSqlDriver } = await import('@mikro-orm/postgresql')
    return discover({
      driver: PostgreSqlDriver as never,
      clientUrl: address.url,
      pool: { min: 0, max: maxConnections },
      driverOptions: {
        connection: {
          connectionString: address.url,
          connectionTimeoutMillis: connectMs,
          query_timeout: statementMs,
          keepAlive: true,
          application_name: 'orbweaver',
        },
        log: silent,
      },
    })
  }
  makeFolderOf(address.path)
  const { LibSqlDriver } = await import('@mikro-orm/libsql')
  return discover({
    driver: LibSqlDriver as never,
    dbName: address.path,
    driverOptions: { pool: { min: 0, max: 1, afterCreate: prepareConnection }, log: silent },
  })
}

/** Sets up a connection to SQLite, for the pool. */
function prepareConnection(connection: Database.Database, done: (error: unknown, connection: unknown) => void): void {
  try {
    // The dialect gives a connection up ten seconds after this time, as remote databases need; a file doesn't.
    Object.assign(connection, { '__created': Infinity })
    connection.exec(pragmas)
    done(null, connection)
  } catch (error) {
    done(error, connection)
  }
}

/**
 * Closes the connections. The rows of a SQLite database are all in its one file then, so that it can be copied: libsql
 * frees its statements late, and until then closing doesn't move them there.
 */
export async function disconnect(orm: Orm, address: Address): Promise<void> {
  await orm.close(true)
  if (address.dialect !== 'sqlite') return
  const libsql = await import('libsql')
  const database = new libsql.default(address.path)
  try {
    database.exec('pragma wal_checkpoint(truncate)')
  } finally {
    database.close()
  }
}

/** What `MikroORM.init` does, but without `MIKRO_ORM_*` variables and `.env`: another project's would lead to another database. */
async function discover(options: Options<AbstractSqlDriver, SqlEntityManager>): Promise<Orm> {
  const { MikroORM } = await import('@mikro-orm/core')
  const orm = new MikroORM<AbstractSqlDriver, SqlEntityManager>({
    ...options,
    entities: [ImageSchema, SchemaVersionSchema],
    discovery: { disableDynamicFileAccess: true },
    allowGlobalContext: true,
  })
  await orm.discoverEntities()
  orm.config.set('allowGlobalContext', false)
  orm.config.getPlatform().init(orm)
  return orm
}

/**
 * One transaction on an entity manager of its own, for queries: its unit of work is not used. MikroORM's `transactional`
 * and `flush` run in an AsyncLocalStorage, and on Node 20 one of them in use makes every promise of the process dearer.
 * @param lock a statement that writes, run first: SQLite waits for other writers only while the transaction has not read
 * anything, and a later conflict would leave the connection stuck, for libsql doesn't reset the statement.
 */
export async function transact<T>(orm: Orm, lock: string, work: (em: SqlEntityManager) => Promise<T>): Promise<T> {
  const em = orm.em.fork()
  const connection = em.getConnection()
  const transaction = await connection.begin()
  em.setTransactionContext(transaction)
  try {
    await connection.execute(lock, [], 'run', transaction)
    const result = await work(em)
    await connection.commit(transaction)
    return result
  } catch (error) {
    // A connection that has gone can't roll back; the server does. What is to be told is why.
    await connection.rollback(transaction).catch(() => undefined)
    throw error
  }
}

function makeFolderOf(path: string): void {
  try {
    makeFolder(dirname(path))
  } catch (cause) {
    const advice = 'Make it, or change the setting database or dataDir.'
    throw new StorageError(`The folder of the database ${path} can't be made: ${messageOf(cause)}. ${advice}`, { cause })
  }
}
