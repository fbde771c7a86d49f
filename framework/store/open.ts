import type { CanonicalizeOptions } from '../http/url.ts'
import type { Log } from '../log.ts'
import { parseAddress } from './address.ts'
import type { HashName } from './kept-hashes.ts'
import type { Store } from './store.ts'

export interface OpenStoreOptions {
  /** The setting `database`. */
  readonly database: string
  /** The setting `dataDir`. */
  readonly dataDir: string
  /** Which hash `similar` compares. */
  readonly hash: HashName
  /** How URLs are compared. Default: as `canonicalizeUrl` does. */
  readonly urls?: CanonicalizeOptions
  readonly log: Log
  /** Ends all waiting. */
  readonly signal: AbortSignal
  /** Milliseconds that a database which goes away is waited for. When it is away at the start, it isn't. */
  readonly outageMs: number
}

/**
 * Opens the store that the setting `database` names, and makes its tables when it is new. The ORM and the one driver
 * that is needed are loaded here, not with the program.
 * @throws SettingsError when the setting is wrong, StorageError when the database can't be used.
 */
export async function openStore({ database, dataDir, hash, urls = {}, ...options }: OpenStoreOptions): Promise<Store> {
  const address = parseAddress(database, dataDir)
  const [{ connect }, { prepareTables }, { KeptHashes }, { Outage, explain }, { SqlStore }] = await Promise.all([
    import('./connect.ts'),
    import('./tables.ts'),
    import('./kept-hashes.ts'),
    import('./outage.ts'),
    import('./sql.ts'),
  ])
  const { location } = address
  const orm = await connect(address)
  try {
    await prepareTables(orm, address)
    const hashes = new KeptHashes({ orm, hash, shared: address.dialect === 'postgresql' })
    await hashes.load()
    return new SqlStore({ orm, address, hashes, urls, outage: new Outage({ ...options, location }) })
  } catch (error) {
    await orm.close(true)
    throw explain(error, location)
  }
}
