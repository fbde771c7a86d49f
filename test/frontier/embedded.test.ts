import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import fc from 'fast-check'
import Database from 'libsql'
import { isCrawlError, Request } from 'orbweaver'
import type { EmbeddedFrontier } from '../../framework/frontier/embedded.ts'
import type { Lease, Outcome } from '../../framework/frontier/frontier.ts'
import { testFrontier, type OpenedFrontier } from './conformance.ts'
import { open, openSlots } from './open.ts'

function opened(folder: string): OpenedFrontier {
  const slots = openSlots()
  const frontier = open(join(folder, 'spider.db'), { slots })
  return {
    frontier,
    slots,
    reopen: async () => {
      await frontier.close()
      return opened(folder)
    },
    reopenKilled: async () => {
      await frontier.close()
      writeFileSync(join(folder, 'spider.db.pid'), '1\n')
      return opened(folder)
    },
    remove: async () => {
      await frontier.close()
      rmSync(folder, { recursive: true })
    },
  }
}

testFrontier('embedded SQLite', async () => opened(mkdtempSync(join(tmpdir(), 'orbweaver-frontier-'))))

function inFolder(body: (path: string, context: TestContext) => Promise<void> | void) {
  return async (context: TestContext) => {
    const folder = mkdtempSync(join(tmpdir(), 'orbweaver-frontier-'))
    try {
      await body(join(folder, 'spider.db'), context)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
}

describe('embedded frontier: its file', () => {
  test('fresh gives up the last run', inFolder(async (path) => {
    const first = open(path)
    await first.markStarted()
    await first.close()
    const second = open(path, { fresh: true })
    assert.equal(second.job.resumed, false)
    assert.equal(second.job.started, false)
    await second.close()
  }))

  test('a second process is refused with the pid of the first', inFolder(async (path) => {
    const first = open(path)
    assert.throws(() => open(path), (error: Error) => isCrawlError(error, 'storage') && error.message.includes(String(process.pid)))
    await first.close()
    await open(path).close()
  }))

  const unusable = (path: string, pattern: RegExp) => (error: Error) =>
    isCrawlError(error, 'storage') && error.message.includes(path) && error.message.includes('--fresh') && pattern.test(error.message)

  test('a file that is no database is refused and left as it was', inFolder((path) => {
    const text = 'these are my notes, not a database at all, but long enough to look like a file\n'.repeat(20)
    writeFileSync(path, text)
    assert.throws(() => open(path), unusable(path, /damaged or no frontier/))
    assert.equal(readFileSync(path, 'utf8'), text)
  }))

  test('a foreign database is refused, and set aside by a fresh run', inFolder(async (path) => {
    const foreign = new Database(path)
    foreign.exec('create table mine (x)')
    foreign.close()
    const bytes = readFileSync(path)
    assert.throws(() => open(path), unusable(path, /something else/))
    assert.deepEqual(readFileSync(path), bytes)
    const frontier = open(path, { fresh: true })
    assert.equal(frontier.job.resumed, false)
    await frontier.close()
    const aside = readdirSync(dirname(path)).find((name) => name.includes('.set-aside-'))
    assert.deepEqual(readFileSync(join(dirname(path), aside ?? '')), bytes)
  }))

  const pragma = (path: string, text: string) => {
    const database = new Database(path)
    database.exec(`pragma ${text}`)
    database.close()
  }

  test('a frontier of another version is refused, unless its run has ended', inFolder(async (path) => {
    await open(path).close()
    pragma(path, 'user_version = 99')
    assert.throws(() => open(path), unusable(path, /newer orbweaver/))
    pragma(path, 'user_version = 1')
    assert.throws(() => open(path), unusable(path, /older orbweaver/))
    pragma(path, 'user_version = 2')
    const ended = open(path)
    await ended.end('finished', true)
    await ended.close()
    pragma(path, 'user_version = 1')
    const next = open(path)
    assert.equal(next.job.resumed, false)
    await next.close()
  }))

  test('a file that was cut or overwritten after a kill is refused with what to do', inFolder(async (path) => {
    const first = open(path)
    await addPages(first, 2_000)
    await first.close()
    pragma(path, 'wal_checkpoint(truncate)')
    const bytes = readFileSync(path)
    const damage = { cut: bytes.subarray(0, bytes.length - 5_000), overwritten: Buffer.from(bytes).fill(0xa5, 3 * 4096, 9 * 4096) }
    for (const [name, content] of Object.entries(damage)) {
      writeFileSync(path, content)
      writeFileSync(`${path}.pid`, '1\n')
      assert.throws(() => open(path), unusable(path, /damaged/), name)
      assert.deepEqual(readFileSync(path), content)
    }
  }))

  test('a request that can’t be read fails by itself', inFolder(async (path) => {
    const first = open(path)
    await addPages(first, 3)
    await first.close()
    const database = new Database(path)
    database.exec(`update request set body = '{"url' where seq = 2`)
    database.close()
    const frontier = open(path)
    const { leases } = await frontier.lease(10)
    assert.deepEqual(leases.map(({ request }) => request.url), ['http://a.example/0', 'http://a.example/2'])
    assert.deepEqual(frontier.counts(), { pending: 0, delayed: 0, leased: 2, failed: 1 })
    assert.deepEqual(frontier.outcomes().map(({ state, reason }) => [state, reason]), [['failed', 'unreadable']])
    await frontier.close()
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

test('when its file could not be written for too long, nothing more is leased, and that is said', inFolder(async (path) => {
  const frontier = open(path, { outageMs: 300 })
  await addPages(frontier, 2)
  const other = new Database(path)
  other.exec('begin immediate')
  await assert.rejects(addPages(frontier, 1, 2), /locked/)
  await assert.rejects(frontier.lease(1), (error: Error) => isCrawlError(error, 'storage'))
  other.exec('rollback')
  other.close()
  await assert.rejects(frontier.close(), /locked/)
  const later = open(path)
  assert.equal(later.counts().pending, 2)
  await later.close()
}))

test('a lock that is given up in time loses nothing and repeats nothing', inFolder(async (path) => {
  const frontier = open(path, { outageMs: 60_000 })
  await addPages(frontier, 3)
  const { leases } = await frontier.lease(2)
  const other = new Database(path)
  other.exec('begin immediate')
  const settled = frontier.settle(leases.map((lease) => ({ lease, outcome: { state: 'retry', reason: 'x', afterMs: 0, counted: true } })))
  const added = addPages(frontier, 3, 1)
  other.exec('rollback')
  other.close()
  await Promise.all([settled, added])
  const again = (await frontier.lease(10)).leases
  assert.deepEqual(again.map(({ request, attempt }) => [request.url.at(-1), attempt]), [['0', 2], ['1', 2], ['2', 1], ['3', 1]])
  assert.deepEqual(frontier.counts(), { pending: 0, delayed: 0, leased: 4, failed: 0 })
  await frontier.close()
}))

test('whatever is done in whatever order, memory and file agree, and the order is kept', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), hosts: fc.array(fc.nat(2), { minLength: 1, maxLength: 4 }), priority: fc.constantFrom(0, 10, -3, 0.5, 2 ** 53, 1e300) }),
    fc.record({ kind: fc.constant('lease' as const), limit: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant('settle' as const), index: fc.nat(5), state: fc.constantFrom('done', 'failed', 'released', 'retry' as const) }),
    fc.record({ kind: fc.constant('reopen' as const) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.constantFrom('breadth' as const, 'depth' as const), async (steps, order) => {
      const folder = mkdtempSync(join(tmpdir(), 'orbweaver-model-'))
      const path = join(folder, 'spider.db')
      let frontier = open(path, { order })
      try {
        const pending = new Map<string, { host: string; priority: number; n: number }>()
        const held = new Map<string, { lease: Lease; entry: { host: string; priority: number; n: number } }>()
        let count = 0
        let failed = 0
        for (const one of steps) {
          if (one.kind === 'add') {
            const requests = one.hosts.map((host) => new Request(`http://${host}.example/${++count}`, { priority: one.priority }))
            for (const { url, slot } of requests) pending.set(url, { host: slot, priority: one.priority, n: Number(new URL(url).pathname.slice(1)) })
            await frontier.add(requests.map((request) => ({ request, fingerprint: request.fingerprint })))
          } else if (one.kind === 'lease') {
            for (const lease of (await frontier.lease(one.limit)).leases) {
              const { url } = lease.request
              const entry = pending.get(url)
              assert.ok(entry !== undefined, `${url} was leased and is not pending`)
              for (const other of pending.values()) {
                if (other.host !== entry.host) continue
                assert.ok(other.priority <= entry.priority, `${url} went before a higher priority`)
                if (other.priority === entry.priority) assert.ok(order === 'breadth' ? other.n >= entry.n : other.n <= entry.n, `${url} went out of turn`)
              }
              pending.delete(url)
              held.set(url, { lease, entry })
            }
          } else if (one.kind === 'settle') {
            const [url, found] = [...held][one.index % Math.max(1, held.size)] ?? []
            if (url === undefined || found === undefined) continue
            held.delete(url)
            found.lease.visit.end()
            const outcome = { done: { state: 'done' }, failed: { state: 'failed', reason: 'x' }, released: { state: 'released' }, retry: { state: 'retry', reason: 'y', afterMs: 0, counted: true } }[one.state] as Outcome
            await frontier.settle([{ lease: found.lease, outcome }])
            if (one.state === 'failed') failed++
            if (one.state === 'released' || one.state === 'retry') pending.set(url, found.entry)
          } else {
            await frontier.close()
            for (const [url, { entry }] of held) pending.set(url, entry)
            held.clear()
            frontier = open(path, { order })
          }
          const counts = frontier.counts()
          assert.deepEqual([counts.pending, counts.leased, counts.failed], [pending.size, held.size, failed])
        }
      } finally {
        await frontier.close()
        rmSync(folder, { recursive: true })
      }
    }),
    { numRuns: 30 },
  )
})

async function addPages(frontier: EmbeddedFrontier, count: number, from = 0): Promise<number> {
  const requests = Array.from({ length: count }, (_, n) => new Request(`http://a.example/${from + n}`))
  return frontier.add(requests.map((request) => ({ request, fingerprint: request.fingerprint.slice(0, frontier.job.bits / 4) })))
}

describe('embedded frontier: its settings', () => {
  test('depth first: what was found last goes first', inFolder(async (path) => {
    const first = open(path, { order: 'depth' })
    await addPages(first, 3)
    const paths = async (frontier: EmbeddedFrontier) => (await frontier.lease(10)).leases.map(({ request }) => new URL(request.url).pathname)
    assert.deepEqual(await paths(first), ['/2', '/1', '/0'])
    await first.close()
    const second = open(path, { order: 'depth' })
    await addPages(second, 1, 3)
    assert.deepEqual(await paths(second), ['/3', '/2', '/1', '/0'])
    await second.close()
  }))

  test('a setting that makes other fingerprints is noticed', inFolder(async (path) => {
    await open(path, { identity: { 'urls.ignoreParameters': [], other: 1 } }).close()
    const second = open(path, { identity: { 'urls.ignoreParameters': ['sid'], other: 1 } })
    assert.deepEqual(second.job.changes, [{ path: 'urls.ignoreParameters', was: '[]', is: '["sid"]' }])
    await second.close()
    const third = open(path, { identity: { 'urls.ignoreParameters': ['sid'], other: 1 } })
    assert.deepEqual(third.job.changes, [])
    await third.close()
  }))

  test('a job keeps the length of its fingerprints', inFolder(async (path) => {
    const dupeFilter = { kind: 'memory', capacity: 1_000, errorRate: 0.001, per: 'job', ttlMs: 0 } as const
    const first = open(path, { dupeFilter: { ...dupeFilter, bits: 128 } })
    assert.equal(await addPages(first, 10), 10)
    await first.close()
    const second = open(path, { dupeFilter: { ...dupeFilter, bits: 64 } })
    assert.equal(second.job.bits, 128)
    assert.equal(await addPages(second, 11), 1)
    await second.close()
  }))

  test('hosts that come to share a slot stand in its line', inFolder(async (path) => {
    const first = open(path)
    await first.add(['a', 'b'].map((name) => new Request(`http://${name}.example.com/`)).map((request) => ({ request, fingerprint: request.fingerprint })))
    await first.close()
    const slots = openSlots({ by: 'domain', concurrency: 1 })
    const second = open(path, { slots })
    const [lease, ...others] = (await second.lease(10)).leases
    assert.deepEqual([lease?.visit.slot, others.length], ['example.com', 0])
    lease?.visit.end()
    assert.equal((await second.lease(10)).leases.length, 1)
    await second.close()
  }))

  for (const kind of ['memory', 'disk', 'bloom', 'lossy-hyperloglog'] as const) {
    for (const per of kind === 'bloom' ? (['job', 'host'] as const) : (['job'] as const)) {
      test(`the dupe filter ${kind} by ${per} knows at the next start what it knew, and can be changed`, inFolder(async (path) => {
        const dupeFilter = { kind, bits: 64, capacity: 100_000, errorRate: 0.001, per, ttlMs: 0 } as const
        const first = open(path, { dupeFilter })
        const added = await addPages(first, 5_000)
        assert.ok(added > 4_950 && added <= 5_000, String(added))
        assert.equal(await addPages(first, 5_000), 0)
        await first.close()
        const second = open(path, { dupeFilter })
        assert.equal(await addPages(second, 5_000), 0)
        const { count, error } = second.distinct()
        assert.ok(Math.abs(count - 5_000) <= 5_000 * error * 4, `${count}`)
        await second.close()
        const third = open(path)
        assert.equal(await addPages(third, 5_000), 5_000 - added)
        assert.equal(third.counts().pending, 5_000)
        await third.close()
      }))
    }
  }

  for (const kind of ['memory', 'disk'] as const) {
    test(`a URL is new again after its time to live: ${kind}`, inFolder(async (path, context) => {
      context.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030, 0, 1) })
      const dupeFilter = { kind, bits: 64, capacity: 1_000, errorRate: 0.001, per: 'job', ttlMs: 86_400_000 } as const
      const first = open(path, { dupeFilter })
      assert.equal(await addPages(first, 10), 10)
      context.mock.timers.tick(80_000_000)
      assert.equal(await addPages(first, 11), 1)
      await first.close()
      const second = open(path, { dupeFilter })
      assert.equal(await addPages(second, 11), 0)
      context.mock.timers.tick(60_000_000)
      assert.equal(await addPages(second, 11), 10)
      await second.close()
      const rows = new Database(path)
      assert.deepEqual(rows.prepare('select count(*) from seen').raw().get(), [11])
      rows.close()
    }))
  }
})
