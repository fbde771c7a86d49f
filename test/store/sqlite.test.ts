import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'libsql'
import { isCrawlError } from '../../framework/errors.ts'
import { silentLog } from '../../framework/log.ts'
import { openStore, type OpenStoreOptions } from '../../framework/store/open.ts'
import { explain } from '../../framework/store/outage.ts'
import type { Store } from '../../framework/store/store.ts'
import { testStore, type StoreDatabase } from './conformance.ts'
import { itemOf } from './items.ts'

function openAt(database: string, options: Partial<OpenStoreOptions> = {}): Promise<Store> {
  const { signal } = new AbortController()
  return openStore({ database, dataDir: tmpdir(), hash: 'pHash', log: silentLog, signal, outageMs: 0, ...options })
}

function createFolder(): string {
  return mkdtempSync(join(tmpdir(), 'orbweaver-store-'))
}

async function createSqlite(): Promise<StoreDatabase> {
  const folder = createFolder()
  const path = join(folder, 'new', 'crawl.db')
  return {
    open: () => openAt(`sqlite:${path}`),
    query: async (sql) => {
      const database = new Database(path)
      const rows = database.prepare(sql).all() as Record<string, unknown>[]
      database.close()
      return rows
    },
    remove: async () => rmSync(folder, { recursive: true }),
  }
}

testStore('SQLite', createSqlite)

function inFolder(body: (folder: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = createFolder()
    try {
      await body(folder)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
}

const storageError = (...parts: readonly string[]) => (error: Error) => {
  assert.ok(isCrawlError(error, 'storage'), error.message)
  for (const part of parts) assert.ok(error.message.includes(part), `"${error.message}" does not say "${part}"`)
  return true
}

describe('SQLite: the file', () => {
  test('an empty setting is crawl.db in the data folder', inFolder(async (folder) => {
    const store = await openAt('', { dataDir: folder })
    assert.equal(store.location, join(folder, 'crawl.db'))
    await store.close()
  }))

  test('after closing, all rows are in the one file', inFolder(async (folder) => {
    const store = await openAt(`sqlite:${join(folder, 'crawl.db')}`)
    await store.found([itemOf('one')], 'gallery')
    await store.close()
    copyFileSync(join(folder, 'crawl.db'), join(folder, 'copy.db'))
    const copy = await openAt(`sqlite:${join(folder, 'copy.db')}`)
    assert.equal((await copy.known([itemOf('one').url])).size, 1)
    await copy.close()
  }))

  test('a scheme that is not known is a wrong setting', async () => {
    for (const database of ['mysql://user:secret@host/db', 'crawl.db', 'sqlite:']) {
      await assert.rejects(openAt(database), (error: Error) => {
        assert.ok(isCrawlError(error, 'settings'))
        return error.message.includes('setting database') && !error.message.includes('secret')
      })
    }
  })

  test('a file that is no database is refused and left as it was', inFolder(async (folder) => {
    const path = join(folder, 'notes.txt')
    writeFileSync(path, 'These are my notes.\n'.repeat(1000))
    await assert.rejects(openAt(`sqlite:${path}`), storageError(path, 'no SQLite database'))
    assert.equal(readFileSync(path, 'utf8'), 'These are my notes.\n'.repeat(1000))
  }))

  test('a damaged database is named', inFolder(async (folder) => {
    const path = join(folder, 'crawl.db')
    await (await openAt(`sqlite:${path}`)).close()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0x5a, 100))
    await assert.rejects(openAt(`sqlite:${path}`), storageError(path, 'damaged'))
  }))

  test('a folder that cannot be made is named', inFolder(async (folder) => {
    const path = join(folder, 'file', 'crawl.db')
    writeFileSync(join(folder, 'file'), '')
    await assert.rejects(openAt(`sqlite:${path}`), storageError(path, 'setting database'))
  }))

  test("another program's table is refused and left as it was", inFolder(async (folder) => {
    const path = join(folder, 'other.db')
    const other = new Database(path)
    other.exec("create table image (id integer primary key, mine text); insert into image (mine) values ('x')")
    other.close()
    await assert.rejects(openAt(`sqlite:${path}`), storageError(path, 'did not make'))
    const reader = new Database(path)
    assert.deepEqual(reader.prepare('select name from sqlite_master').all(), [{ name: 'image' }])
    assert.deepEqual(reader.prepare('select * from image').all(), [{ id: 1, mine: 'x' }])
    reader.close()
  }))

  test('a database of a newer version is refused and left as it was', inFolder(async (folder) => {
    const path = join(folder, 'crawl.db')
    await (await openAt(`sqlite:${path}`)).close()
    const database = new Database(path)
    database.exec('update schema_version set version = 99')
    await assert.rejects(openAt(`sqlite:${path}`), storageError(path, 'newer version'))
    assert.deepEqual(database.prepare('select version from schema_version').all(), [{ version: 99 }])
    database.close()
  }))

  test('columns that a user has added are left alone', inFolder(async (folder) => {
    const path = join(folder, 'crawl.db')
    await (await openAt(`sqlite:${path}`)).close()
    const database = new Database(path)
    database.exec('alter table image add column stars integer')
    database.close()
    const store = await openAt(`sqlite:${path}`)
    await store.found([itemOf('one')], 'gallery')
    await store.close()
    const reader = new Database(path)
    assert.deepEqual(reader.prepare('select url, stars from image').all(), [{ url: itemOf('one').url, stars: null }])
    reader.close()
  }))

  test('several processes open a new database at once, write to it at once, and lose nothing', inFolder(async (folder) => {
    const database = `sqlite:${join(folder, 'crawl.db')}`
    const reports = await Promise.all(
      ['a', 'b', 'c'].map(async (site) => {
        const child = fork(join(import.meta.dirname, 'save-many.ts'), [database, site], { execArgv: ['--import', import.meta.resolve('tsx')] })
        const [[report]] = await Promise.all([once(child, 'message'), once(child, 'exit')])
        return report as unknown
      }),
    )
    assert.deepEqual(reports, Array.from({ length: 3 }, () => ({ failed: 0, warnings: 0 })))
    const store = await openAt(database)
    assert.deepEqual((await store.counts()).map(({ status, count }) => [status, count]), [['downloaded', 900]])
    await store.close()
  }))

  test('a lock of another program is waited for', inFolder(async (folder) => {
    const path = join(folder, 'crawl.db')
    await (await openAt(`sqlite:${path}`)).close()
    const other = new Database(path)
    other.exec('begin immediate')
    const warnings: string[] = []
    const warn = (_: object, message: string): void => {
      warnings.push(message)
      other.exec('rollback')
    }
    const store = await openAt(`sqlite:${path}`, { log: { ...silentLog, warn }, outageMs: 60_000 })
    const known = await store.found([itemOf('locked')], 'gallery')
    assert.equal(known.size, 1)
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', /crawl\.db/)
    other.close()
    await store.close()
  }))

  test('a full disk is told apart from other failures', inFolder(async (folder) => {
    const database = new Database(join(folder, 'small.db'))
    database.exec('pragma max_page_count = 3; create table t (x text)')
    assert.throws(
      () => database.prepare('insert into t values (?)').run('x'.repeat(100_000)),
      (error: Error) => {
        const explained = explain(error, 'small.db')
        return isCrawlError(explained, 'storage') && explained.reason === 'disk is full' && /Free some space/.test(explained.message)
      },
    )
    database.close()
  }))
})
