import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createAbortController } from '../async/signal.ts'
import { silentLog } from '../log.ts'
import type { Settings } from '../settings/schema.ts'
import { parseAddress } from '../store/address.ts'
import type { StatusCount } from '../store/store.ts'

/**
 * Counts a spider's images without opening the store for work: no tables are made or changed, no hashes are read.
 * Empty when there is no database yet.
 * @throws StorageError when the database can't be read.
 */
export async function countStoredImages(settings: Settings, site: string): Promise<readonly StatusCount[]> {
  const address = parseAddress(settings.database, resolve(settings.dataDir))
  if (address.dialect === 'sqlite' && !existsSync(address.path)) return []
  const [{ connect }, { KeptHashes }, { explain, Outage }, { SqlStore }] = await Promise.all([
    import('../store/connect.ts'),
    import('../store/kept-hashes.ts'),
    import('../store/outage.ts'),
    import('../store/sql.ts'),
  ])
  const { location } = address
  const orm = await connect(address)
  const hashes = new KeptHashes({ orm, hash: settings.dedupe.hash, shared: false })
  const outage = new Outage({ location, log: silentLog, signal: createAbortController().signal, outageMs: 0 })
  const store = new SqlStore({ orm, location, hashes, outage })
  try {
    return await store.counts(site)
  } catch (error) {
    if (/no such table|does not exist/i.test(String(error))) return []
    throw explain(error, location)
  } finally {
    await store.close()
  }
}
