import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'libsql'
import { isCrawlError } from 'orbweaver'
import { EmbeddedFrontier } from '../../framework/frontier/embedded.ts'
import { FingerprintTable } from '../../framework/frontier/fingerprint-table.ts'
import { silentLog } from '../../framework/log.ts'
import { testFrontier, type OpenedFrontier } from './conformance.ts'

const open = (path: string, fresh = false): EmbeddedFrontier =>
  new EmbeddedFrontier({ path, fresh, fingerprint: (request) => request.fingerprint, log: silentLog, signal: new AbortController().signal, outageMs: 0 })

function opened(folder: string): OpenedFrontier {
  const frontier = open(join(folder, 'spider.db'))
  return {
    frontier,
    reopen: async () => {
      await frontier.close()
      return opened(folder)
    },
    remove: async () => {
      await frontier.close()
      rmSync(folder, { recursive: true })
    },
  }
}

testFrontier('embedded SQLite', async () => opened(mkdtempSync(join(tmpdir(), 'orbweaver-frontier-'))))

function inFolder(body: (path: string) => Promise<void> | void) {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'orbweaver-frontier-'))
    try {
      await body(join(folder, 'spider.db'))
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
}

describe('embedded frontier: its file', () => {
  test('fresh gives up the last run', inFolder(async (path) => {
    const first = open(path)
    await first.mark('started')
    await first.close()
    const second = open(path, true)
    assert.equal(second.resumed, false)
    assert.equal(second.started, false)
    await second.close()
  }))

  test('a second process is refused with the pid of the first', inFolder(async (path) => {
    const first = open(path)
    assert.throws(() => open(path), (error: Error) => isCrawlError(error, 'storage') && error.message.includes(String(process.pid)))
    await first.close()
    await open(path).close()
  }))

  test('a file that is no database is refused and left as it was', inFolder((path) => {
    const text = 'these are my notes, not a database at all, but long enough to look like a file\n'.repeat(20)
    writeFileSync(path, text)
    assert.throws(() => open(path), (error: Error) => isCrawlError(error, 'storage') && error.message.includes(path))
    assert.equal(readFileSync(path, 'utf8'), text)
  }))

  test('a foreign database is refused', inFolder((path) => {
    const foreign = new Database(path)
    foreign.exec('create table mine (x)')
    foreign.close()
    assert.throws(() => open(path), /no frontier of orbweaver/)
  }))

  test('a frontier of a newer version is refused', inFolder(async (path) => {
    await open(path).close()
    const newer = new Database(path)
    newer.exec('pragma user_version = 99')
    newer.close()
    assert.throws(() => open(path), /newer orbweaver/)
  }))

  test('what was acknowledged survives kill -9', inFolder(async (path) => {
    const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'add-until-killed.ts'), path], { stdio: ['ignore', 'pipe', 'inherit'] })
    let acknowledged = 0
    for await (const chunk of child.stdout) {
      acknowledged = Number(String(chunk).trim().split('\n').at(-1))
      if (acknowledged >= 2_000 && !child.killed) child.kill('SIGKILL')
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    assert.equal(child.signalCode, 'SIGKILL')
    const frontier = open(path)
    assert.ok(frontier.counts().pending >= acknowledged, `${frontier.counts().pending} of ${acknowledged}`)
    await frontier.close()
  }))
})

describe('fingerprint table', () => {
  test('answers as a Set does, while it grows', () => {
    const table = new FingerprintTable()
    const set = new Set<string>()
    let x = 12345
    const random = () => (x = Math.imul(x, 1664525) + 1013904223) >>> 0
    for (let n = 0; n < 200_000; n++) {
      const high = random()
      const low = random() % 8
      const key = `${high}.${low}`
      assert.equal(table.add(high, low), !set.has(key))
      set.add(key)
      assert.equal(table.has(high, low), true)
      const other = random()
      assert.equal(table.has(other, 9), set.has(`${other}.9`))
    }
    assert.equal(table.size, set.size)
  })

  test('zero is a fingerprint like any other', () => {
    const table = new FingerprintTable()
    assert.equal(table.has(0, 0), false)
    assert.equal(table.add(0, 0), true)
    assert.equal(table.add(0, 0), false)
    assert.equal(table.has(0, 0), true)
  })
})
