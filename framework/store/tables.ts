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
/** Any number that no other program takes: two processes that open a new database do so one after the other. */
const advisoryLock = 704_912_335

/**
 * Makes the tables of a new database, or brings those of an older version up to date, in one transaction.
 * @throws StorageError when the tables are not ours or of a newer version; they are left as they were.
 */
export async function prepareTables(orm: Orm, address: Address): Promise<void> {
  await transact(orm, async (em) => {
    const run: Run = (sql, parameters = []) => em.getConnection().execute(sql, [...parameters], 'all', em.getTransactionContext())
    if (address.dialect === 'postgresql') await run('select pg_advisory_xact_lock(?)', [advisoryLock])
    const tables = (await run(tablesQuery[address.dialect])).map(({ name }) => name)
    const found = tables.includes('schema_version') ? await readVersion(run, address) : undefined
    if (found === undefined) {
      if (tables.includes('image')) throw foreign(address)
      for (const statement of await createStatements(orm, tables)) await run(statement)
      await run('insert into schema_version (part, version) values (?, ?)', [part, version])
      return
    }
    if (!tables.includes('image')) throw foreign(address)
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

/** One statement a line, without those for a table that is there. */
async function createStatements(orm: Orm, tables: readonly unknown[]): Promise<string[]> {
  const sql = await orm.schema.getCreateSchemaSQL({ wrap: false })
  const lines = sql.split('\n').filter((line) => line.trim() !== '')
  return tables.includes('schema_version') ? lines.filter((line) => !/^create table .schema_version/.test(line)) : lines
}

function foreign({ location }: Address): StorageError {
  const what = `The database ${location} has a table "image" or "schema_version" that orbweaver did not make.`
  return new StorageError(`${what} Set database to another one; this one was left as it is.`)
}
