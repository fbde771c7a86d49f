import { join, resolve } from 'node:path'
import { SettingsError } from '../errors.ts'

/** Where a database is. `location` is for people: it never holds a password. */
export type Address =
  | { readonly dialect: 'sqlite'; readonly path: string; readonly location: string }
  | { readonly dialect: 'postgresql'; readonly url: string; readonly location: string }

const forms = 'sqlite:PATH or postgresql://USER:PASSWORD@HOST:PORT/DATABASE'

/**
 * Reads the setting `database`. Empty: `crawl.db` in the folder `dataDir`.
 * @throws SettingsError when it is of no known form.
 */
export function parseAddress(database: string, dataDir: string): Address {
  if (database === '') return sqlite(join(dataDir, 'crawl.db'))
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(database)?.[1]?.toLowerCase()
  if (scheme === 'sqlite') {
    const path = database.slice('sqlite:'.length).replace(/^\/\//, '')
    if (path === '') throw new SettingsError(`The setting database names no file: write ${forms}.`)
    return sqlite(path)
  }
  if (scheme === 'postgres' || scheme === 'postgresql') return postgresql(database)
  const what = scheme === undefined ? 'has no scheme' : `begins with "${scheme}:"`
  throw new SettingsError(`The setting database ${what}: write ${forms}.`)
}

function sqlite(path: string): Address {
  const absolute = resolve(path)
  return { dialect: 'sqlite', path: absolute, location: absolute }
}

function postgresql(url: string): Address {
  try {
    const { username, hostname, port, pathname, searchParams } = new URL(url)
    const host = hostname || searchParams.get('host') || 'localhost'
    const user = username === '' ? '' : `${username}@`
    return { dialect: 'postgresql', url, location: `postgresql://${user}${host}:${port || '5432'}${pathname}` }
  } catch {
    const advice = 'Are special characters of the password percent-encoded (@ as %40)?'
    throw new SettingsError(`The setting database is no valid postgresql:// URL. ${advice}`)
  }
}
