import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { openReadOnly } from '../frontier/inspect.ts'
import type { Settings } from '../settings/schema.ts'
import { parseAddress, type Address } from '../store/address.ts'
import type { ImageStatus, StatusCount } from '../store/store.ts'

interface Row {
  readonly status: ImageStatus
  readonly reason: string
  readonly count: number | string
  readonly bytes: number | string
}

const query = "select status, coalesce(reason, '') as reason, count(*) as count, coalesce(sum(file_size), 0) as bytes from image where source_site = ? group by 1, 2 order by 1, 2"

/**
 * Counts a spider's images without opening the store for work: nothing is made, changed or read into memory.
 * Empty when there is no database yet.
 * @throws StorageError when the database can't be read.
 */
export async function countStoredImages(settings: Settings, site: string): Promise<readonly StatusCount[]> {
  const address = parseAddress(settings.database, resolve(settings.dataDir))
  try {
    const rows = address.dialect === 'sqlite' ? readSqlite(address.path, site) : await readPostgres(address, site)
    return rows.map(({ status, reason, count, bytes }) => ({ status, reason, count: Number(count), bytes: Number(bytes) }))
  } catch (error) {
    if (/no such table|relation .* does not exist/i.test(String(error))) return []
    const { explain } = await import('../store/outage.ts')
    throw explain(error, address.location)
  }
}

function readSqlite(path: string, site: string): Row[] {
  if (!existsSync(path)) return []
  const database = openReadOnly(path)
  try {
    return database.prepare(query).all(site) as Row[]
  } finally {
    database.close()
  }
}

async function readPostgres(address: Address, site: string): Promise<Row[]> {
  const { connect } = await import('../store/connect.ts')
  const orm = await connect(address)
  try {
    return await orm.em.getConnection().execute<Row[]>(query, [site])
  } finally {
    await orm.close(true)
  }
}
