import { isCrawlError, StorageError } from '../errors.ts'
import type { Address } from './address.ts'
import { transact, type Orm } from './connect.ts'

/** A change of the tables, written by hand: comparing a user's database with the entities could rename or drop his columns. */
interface Step {
  /** The version that it leads to. */
  readonly version: number
  readonly sqlite: readonly string[]
  readonly postgresql: readonly string[]
}

type Run = (sql: string, parameters?: readonly unknown[]) => Promise<Record<string, unknown>[]>

/** What leads from version 1, which the entities had at first, to the present one. */
const steps: readonly Step[] = []
const version = 1 + steps.length
const part = 'store'
const versionTable = 'schema_version'
/** Any number that no other program takes. */
const advisoryLock = 704_912_335

/**
 * Makes the tables of a new database, or brings those of an older version up to date, in one transaction.
 * @throws StorageError when the tables are not ours or of a newer version; they are left as they were.
 */
export async function prepareTables(orm: Orm, address: Address): Promise<void> {
  const statements = await createStatements(orm)
  await transact(orm, lockOf(address, statements), async (em) => {
    const run: Run = (sql, parameters = []) => em.getConnection().execute(sql, [...parameters], 'all', em.getTransactionContext())
    const tables = new Set((await run(tablesQuery[address.dialect])).map(({ name }) => name))
    const found = tables.has(versionTable) ? await readVersion(run, address) : undefined
    if (found === undefined) {
      if (tables.has('image')) throw foreign(address)
      const missing = statements.filter((statement) => !tables.has(versionTable) || !isVersionTable(statement))
      for (const statement of missing) await run(statement)
      await run('insert into schema_version (part, version) values (?, ?)', [part, version])
      return
    }
    if (!tables.has('image')) throw foreign(address)
    if (found > version) {
      const what = `The database ${address.location} was made by a newer version of orbweaver`
      const advice = 'Update orbweaver, or set database to another one; it was left as it is.'
      throw new StorageError(`${what} (its tables are of version ${found}, known here is ${version}). ${advice}`)
    }
    for (const step of steps) {
      if (step.version > found) for (const statement of step[address.dialect]) await run(statement)
    }
    if (found < version) await run('update schema_version set version = ? where part = ?', [version, part])
  })
}

/** Two processes that open a new database do so one after the other. */
function lockOf({ dialect }: Address, statements: readonly string[]): string {
  if (dialect === 'postgresql') return `select pg_advisory_xact_lock(${advisoryLock})`
  const create = statements.find(isVersionTable) ?? ''
  return create.replace('create table', 'create table if not exists')
}

const isVersionTable = (statement: string): boolean => /^create table .schema_version/.test(statement)

const tablesQuery = {
  sqlite: "select name from sqlite_master where type in ('table', 'view') and name in ('image', 'schema_version')",
  postgresql:
    'select table_name as name from information_schema.tables ' +
    "where table_schema = current_schema() and table_name in ('image', 'schema_version')",
}

async function readVersion(run: Run, address: Address): Promise<number | undefined> {
  try {
    const [row] = await run('select version from schema_version where part = ?', [part])
    return row === undefined ? undefined : Number(row['version'])
  } catch (error) {
    if (isCrawlError(error) || !/column/i.test(String(error))) throw error
    throw foreign(address)
  }
}

/** What makes the tables of a new database, each table before its indexes. */
async function createStatements(orm: Orm): Promise<string[]> {
  const sql = await orm.schema.getCreateSchemaSQL({ wrap: false })
  return sql.split('\n').filter((line) => line.trim() !== '')
}

function foreign({ location }: Address): StorageError {
  const what = `The database ${location} has a table "image" or "schema_version" that orbweaver did not make.`
  return new StorageError(`${what} Set database to another one; this one was left as it is.`)
}
