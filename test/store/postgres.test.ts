import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { isCrawlError } from '../../framework/errors.ts'
import type { Item } from '../../framework/item.ts'
import { silentLog, type Log } from '../../framework/log.ts'
import { parseAddress } from '../../framework/store/address.ts'
import { connect as connectOrm } from '../../framework/store/connect.ts'
import { openStore, type OpenStoreOptions } from '../../framework/store/open.ts'
import type { Store } from '../../framework/store/store.ts'
import { findPostgres, noPostgres } from '../postgres.ts'
import { testStore, type StoreDatabase } from './conformance.ts'
import { fetched, hashesOf, itemOf } from './items.ts'

const server = await findPostgres()
const skip = server === undefined ? noPostgres : false
after(() => server?.close())

function openAt(database: string, options: Partial<OpenStoreOptions> = {}): Promise<Store> {
  const { signal } = new AbortController()
  return openStore({ database, dataDir: '', hash: 'pHash', log: silentLog, signal, outageMs: 0, ...options })
}

async function createPostgres(): Promise<StoreDatabase & { readonly url: string }> {
  assert.ok(server)
  const { url, drop } = await server.createDatabase()
  const orm = await connectOrm(parseAddress(url, ''))
  return {
    url,
    open: () => openAt(url),
    query: (sql) => orm.em.getConnection().execute(sql),
    remove: async () => {
      await orm.close(true)
      await drop()
    },
  }
}

testStore('PostgreSQL', createPostgres, skip)

/** Stands between a store and its server, so that the server can be away and come back. */
class Proxy {
  /** Breaks the next connection that sends this: before the server has seen it, or after the server has answered. */
  breakAt: { readonly sent: string; readonly when: 'before' | 'answered' } | undefined
  readonly #target: URL
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #port = 0

  constructor(target: string) {
    this.#target = new URL(target)
  }

  get url(): string {
    const url = new URL(this.#target)
    url.host = `127.0.0.1:${this.#port}`
    return url.href
  }

  async start(): Promise<void> {
    this.#server = createServer((client) => {
      const upstream = connect(Number(this.#target.port || 5432), this.#target.hostname)
      for (const [from, to] of [[client, upstream], [upstream, client]] as const) {
        this.#sockets.add(from)
        from.on('error', () => {}).on('close', () => this.#sockets.delete(from) && to.destroy())
      }
      let broken = false
      client.on('data', (sent) => {
        const breakAt = this.breakAt
        if (breakAt !== undefined && sent.includes(breakAt.sent)) {
          this.breakAt = undefined
          broken = true
          if (breakAt.when === 'before') return client.destroy()
        }
        return upstream.write(sent)
      })
      upstream.on('data', (answer) => (broken ? client.destroy() : client.write(answer)))
    }).listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    const closed = once(this.#server ?? assert.fail(), 'close')
    this.#server?.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}

describe('PostgreSQL: the server', { skip }, () => {
  let database: Awaited<ReturnType<typeof createPostgres>>
  let proxy: Proxy

  before(async () => {
    database = await createPostgres()
    proxy = new Proxy(database.url)
    await proxy.start()
  })
  after(async () => {
    await proxy.stop()
    await database.remove()
  })

  test('a server that goes away is waited for, and nothing is lost', async () => {
    let restarted: Promise<void> | undefined
    const messages: string[] = []
    const log: Log = {
      ...silentLog,
      info: (_, message) => void messages.push(message),
      warn: (_, message) => {
        messages.push(message)
        restarted ??= proxy.start()
      },
    }
    const store = await openAt(proxy.url, { log, outageMs: 60_000 })
    const items = Array.from({ length: 30 }, (_, index) => itemOf(`outage-${index}`))
    const known = await store.found(items, 'gallery')
    await proxy.stop()
    const stored = await Promise.all(items.map((item) => store.save(fetched(item, known.get(item.url) ?? assert.fail()))))
    await restarted
    assert.equal(stored.length, 30)
    assert.deepEqual((await store.counts()).map(({ status, count }) => [status, count]), [['downloaded', 30]])
    assert.match(messages.join('\n'), /is away .*: waiting for it[^]*is back/)
    await store.close()
  })

  const breaks = [
    { sent: 'insert into "image"', when: 'before' },
    { sent: 'COMMIT', when: 'before' },
    { sent: 'COMMIT', when: 'answered' },
  ] as const
  for (const breakAt of breaks) {
    const moment = `${breakAt.when === 'before' ? 'before' : 'after'} ${breakAt.sent}`
    test(`a connection that breaks ${moment} costs nothing`, async () => {
      const store = await openAt(proxy.url, { outageMs: 60_000 })
      const items = [1, 2, 3].map((number) => itemOf(`broken-${moment}-${number}`))
      const known = await store.found(items, moment)
      proxy.breakAt = breakAt
      const hashes = (index: number) => hashesOf(`${breakAt.sent.length}${breakAt.when.length}f${index}`.padEnd(16, '0'))
      const save = (item: Item, index: number) =>
        store.save(fetched(item, known.get(item.url) ?? assert.fail(), { hashes: hashes(index) }))
      const stored = await Promise.all(items.map(save))
      assert.equal(proxy.breakAt, undefined, 'the connection was broken')
      assert.deepEqual((await store.counts(moment)).map(({ status, count }) => [status, count]), [['downloaded', 3]])
      for (const [index, { id }] of stored.entries()) assert.equal((await store.similar(hashes(index).pHash, 0))?.id, id)
      await store.close()
    })
  }

  test('a server that stays away is given up with what to do, and stops all that waits', async () => {
    const store = await openAt(proxy.url, { outageMs: 50 })
    const items = Array.from({ length: 5 }, (_, index) => itemOf(`gone-${index}`))
    const known = await store.found(items, 'gallery')
    await proxy.stop()
    const ends = await Promise.allSettled(items.map((item) => store.save(fetched(item, known.get(item.url) ?? assert.fail()))))
    for (const end of ends) {
      assert.ok(end.status === 'rejected' && isCrawlError(end.reason, 'storage'))
      assert.equal(end.reason.reason, 'database is away')
    }
    await store.close()
    await proxy.start()
  })

  test('a crawl that ends stops waiting at once', async () => {
    const controller = new AbortController()
    const log: Log = { ...silentLog, warn: () => controller.abort(new Error('the crawl is ending')) }
    const store = await openAt(proxy.url, { log, outageMs: 600_000, signal: controller.signal })
    await proxy.stop()
    await assert.rejects(store.known(['https://site.test/x.jpg']), /the crawl is ending/)
    await store.close()
    await proxy.start()
  })

  test('what is wrong at the start is said, with the host and without the password', async () => {
    const unused = await closedPort()
    const away = `postgres://user:secret@127.0.0.1:${unused}/db`
    await assert.rejects(openAt(away, { outageMs: 600_000 }), says([`127.0.0.1:${unused}`, 'setting database'], 'secret'))
    const missing = new URL(database.url)
    missing.pathname = '/no_such_database'
    await assert.rejects(openAt(missing.href), says(['no_such_database', 'createdb']))
    const isWrong = (error: Error) => isCrawlError(error, 'settings') && !error.message.includes('sec ret')
    await assert.rejects(openAt('postgres://user:sec ret@:x/db'), isWrong)
  })

  test("another program's table is refused and left as it was", async () => {
    const other = await createPostgres()
    await other.query('create table image (id int, mine text)')
    await assert.rejects(other.open(), says(['did not make']))
    const tables = await other.query("select table_name as name from information_schema.tables where table_schema = 'public'")
    assert.deepEqual(tables, [{ name: 'image' }])
    await other.remove()
  })

  test('a version table of another program is refused and left as it was', async () => {
    const other = await createPostgres()
    await other.query('create table schema_version (installed_rank int, version text)')
    await assert.rejects(other.open(), says(['did not make']))
    await other.remove()
  })

  test('two processes that open a new database at once both can use it', async () => {
    const fresh = await createPostgres()
    const stores = await Promise.all([fresh.open(), fresh.open(), fresh.open()])
    await Promise.all(stores.map((store) => store.found([itemOf('shared')], 'gallery')))
    assert.equal(Number((await fresh.query('select count(*) as count from image'))[0]?.['count']), 1)
    await Promise.all(stores.map((store) => store.close()))
    await fresh.remove()
  })

  test('pictures that another process keeps are found, and one that it replaces is not', async (context) => {
    const shared = await createPostgres()
    const [mine, theirs] = [await shared.open(), await shared.open()]
    const [small, large] = [itemOf('small'), itemOf('large')]
    const known = await theirs.found([small, large], 'gallery')
    const [first, second] = [known.get(small.url), known.get(large.url)]
    assert.ok(first && second)
    await theirs.save(fetched(small, first, { hashes: hashesOf('0123456789abcdef') }))
    const realNow = Date.now
    let aheadMs = 4_000
    context.mock.method(Date, 'now', () => realNow() + aheadMs)
    assert.equal((await mine.similar('0123456789abcdef', 5))?.id, first.id)
    const replaces = { id: first.id, distance: 1, key: null }
    await theirs.save(fetched(large, second, { hashes: hashesOf('0123456789abcdee'), replaces }))
    assert.equal(await mine.similar('0123456789abcdef', 0), undefined)
    aheadMs = 8_000
    assert.equal((await mine.similar('0123456789abcdef', 5))?.id, second.id)
    await Promise.all([mine.close(), theirs.close()])
    await shared.remove()
  })
})

function says(parts: readonly string[], not = '\0'): (error: Error) => boolean {
  return (error) => {
    assert.ok(isCrawlError(error, 'storage'), error.message)
    for (const part of parts) assert.ok(error.message.includes(part), `"${error.message}" does not say "${part}"`)
    assert.ok(!error.message.includes(not), error.message)
    return true
  }
}

async function closedPort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
