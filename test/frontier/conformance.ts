import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Request } from 'orbweaver'
import type { Frontier, Lease, NewRequest, Outcome } from '../../framework/frontier/frontier.ts'
import type { Slots } from '../../framework/slots/slots.ts'

export interface OpenedFrontier {
  readonly frontier: Frontier
  /** What it asks whether a host may be visited. */
  readonly slots: Slots
  /** Opens what was left, as a later process would. The frontier before must not be used any more. */
  reopen(): Promise<OpenedFrontier>
  /** Opens what was left by a process that was killed. */
  reopenKilled(): Promise<OpenedFrontier>
  remove(): Promise<void>
}

const page = (path: string, options = {}) => new Request(`http://a.example${path}`, options)
const withFingerprint = (request: Request): NewRequest => ({ request, fingerprint: request.fingerprint.slice(0, 16) })
const add = (frontier: Frontier, requests: Request[]): Promise<number> => frontier.add(requests.map(withFingerprint))
const has = (frontier: Frontier, request: Request): boolean => frontier.has(withFingerprint(request).fingerprint, request.url)
const pathOf = ({ request }: Lease): string => new URL(request.url).pathname

async function leaseAll(frontier: Frontier, limit = 100): Promise<Lease[]> {
  return [...(await frontier.lease(limit)).leases]
}

const settle = (frontier: Frontier, lease: Lease | undefined, outcome: Outcome): Promise<void> => {
  assert.ok(lease !== undefined)
  lease.visit.end()
  return frontier.settle([{ lease, outcome }])
}

/** What every frontier promises. */
export function testFrontier(name: string, open: () => Promise<OpenedFrontier>): void {
  const withFrontier = (title: string, body: (opened: OpenedFrontier) => Promise<OpenedFrontier | void>) =>
    test(title, async () => {
      const opened = await open()
      let last = opened
      try {
        last = (await body(opened)) ?? opened
      } finally {
        await last.remove()
      }
    })

  describe(`frontier: ${name}`, () => {
    withFrontier('adding twice changes nothing', async ({ frontier }) => {
      assert.equal(await add(frontier, [page('/1'), page('/2'), page('/1#fragment')]), 2)
      assert.equal(await add(frontier, [page('/2')]), 0)
      assert.equal(frontier.counts().pending, 2)
      assert.equal(has(frontier, page('/1')), true)
      assert.equal(has(frontier, page('/3')), false)
      assert.deepEqual(frontier.distinct(), { count: 2, error: 0 })
    })

    withFrontier('dontFilter adds what is known already', async ({ frontier }) => {
      await add(frontier, [page('/1')])
      assert.equal(await add(frontier, [page('/1', { dontFilter: true })]), 1)
      assert.equal((await leaseAll(frontier)).length, 2)
    })

    withFrontier('a request comes back as it was put in', async ({ frontier }) => {
      const request = page('/x?b=1&a=é', { method: 'POST', body: 'q=1', headers: { 'x-a': 'b' }, callback: 'parseX', meta: { n: [1, null] }, depth: 4 })
      await add(frontier, [request])
      const [lease] = await leaseAll(frontier)
      assert.deepEqual(lease?.request.toJSON(), request.toJSON())
    })

    withFrontier('higher priority first, then the order of finding', async ({ frontier }) => {
      await add(frontier, [page('/low', { priority: -1 }), page('/1'), page('/high', { priority: 5 }), page('/2')])
      assert.deepEqual((await leaseAll(frontier)).map(pathOf), ['/high', '/1', '/2', '/low'])
    })

    withFrontier('hosts take turns, and one that may not be visited is passed over', async ({ frontier, slots }) => {
      await add(frontier, [1, 2, 3].flatMap((n) => ['a', 'b', 'c'].map((host) => new Request(`http://${host}.example/${n}`))))
      slots.pauseUntil('b.example', Date.now() + 600_000)
      const first = await leaseAll(frontier, 5)
      assert.deepEqual(first.map(({ request }) => request.slot), ['a.example', 'c.example', 'a.example', 'c.example', 'a.example'])
      assert.deepEqual(first.map(pathOf), ['/1', '/1', '/2', '/2', '/3'])
      const { leases, waitMs } = await frontier.lease(5)
      assert.deepEqual(leases.map(pathOf), ['/3'])
      assert.ok(waitMs > 590_000 && waitMs <= 600_000)
    })

    withFrontier('a host has no more requests at once than it may have, and the next when one ends', async ({ frontier, slots }) => {
      await add(frontier, [page('/1'), page('/2'), new Request('http://narrow.example/1'), new Request('http://narrow.example/2')])
      const leases = await leaseAll(frontier)
      const narrow = leases.filter(({ request }) => request.slot === 'narrow.example')
      assert.deepEqual([leases.length, narrow.length], [3, 1])
      assert.deepEqual(await frontier.lease(5), { leases: [], waitMs: Infinity })
      assert.equal(slots.readyAt('narrow.example'), Infinity)
      narrow[0]?.visit.end()
      assert.deepEqual((await leaseAll(frontier)).map(({ request }) => request.url), ['http://narrow.example/2'])
    })

    withFrontier('what is leased is nobody else’s', async ({ frontier }) => {
      await add(frontier, [page('/1'), page('/2')])
      const [first] = await leaseAll(frontier, 1)
      const [second] = await leaseAll(frontier)
      assert.notEqual(first?.request.url, second?.request.url)
      assert.deepEqual(await leaseAll(frontier), [])
      assert.equal(frontier.counts().leased, 2)
    })

    withFrontier('a settled request is gone, and counted', async ({ frontier }) => {
      await add(frontier, [page('/1'), page('/2'), page('/3')])
      const [one, two, three] = await leaseAll(frontier)
      await settle(frontier, one, { state: 'done' })
      await settle(frontier, two, { state: 'ignored', reason: 'http 404' })
      await settle(frontier, three, { state: 'failed', reason: 'timeout' })
      assert.deepEqual(frontier.counts(), { pending: 0, delayed: 0, leased: 0, failed: 1 })
      const outcomes = [...frontier.outcomes()].sort((a, b) => a.state.localeCompare(b.state))
      assert.deepEqual(outcomes, [
        { kind: 'page', state: 'done', reason: '', count: 1 },
        { kind: 'page', state: 'failed', reason: 'timeout', count: 1 },
        { kind: 'page', state: 'ignored', reason: 'http 404', count: 1 },
      ])
      assert.equal(await add(frontier, [page('/1')]), 0)
    })

    withFrontier('settling twice counts once', async ({ frontier }) => {
      await add(frontier, [page('/1')])
      const [lease] = await leaseAll(frontier)
      await settle(frontier, lease, { state: 'done' })
      await settle(frontier, lease, { state: 'failed', reason: 'late' })
      assert.deepEqual(frontier.outcomes(), [{ kind: 'page', state: 'done', reason: '', count: 1 }])
    })

    withFrontier('what a request has led to is added as it is settled', async (opened) => {
      const { frontier } = opened
      await add(frontier, [page('/1')])
      const [lease] = await leaseAll(frontier)
      assert.ok(lease)
      const children = [page('/1'), page('/2'), page('/2'), page('/3')].map(withFingerprint)
      await frontier.settle([{ lease, outcome: { state: 'done' }, children, met: { fingerprint: withFingerprint(page('/target')).fingerprint, url: page('/target').url } }])
      assert.equal(frontier.counts().pending, 2)
      assert.equal(has(frontier, page('/target')), true)
      await frontier.settle([{ lease, outcome: { state: 'done' }, children: [withFingerprint(page('/late'))] }])
      assert.equal(has(frontier, page('/late')), false)
      const later = await opened.reopen()
      assert.deepEqual((await leaseAll(later.frontier)).map(pathOf), ['/2', '/3'])
      assert.equal(has(later.frontier, page('/target')), true)
      return later
    })

    withFrontier('a retry waits for its time, and its try is counted', async ({ frontier }) => {
      await add(frontier, [page('/1'), page('/2')])
      const [one, two] = await leaseAll(frontier)
      await settle(frontier, one, { state: 'retry', reason: 'http 503', afterMs: 3_600_000, counted: true })
      await settle(frontier, two, { state: 'retry', reason: 'http 429', afterMs: 0, counted: false })
      const { leases, waitMs } = await frontier.lease(100)
      assert.deepEqual(leases.map(({ request, attempt, patience }) => [request.url, attempt, patience]), [[two?.request.url, 1, 1]])
      assert.ok(waitMs > 3_500_000 && waitMs <= 3_600_000)
      assert.deepEqual(frontier.counts(), { pending: 1, delayed: 1, leased: 1, failed: 0 })
    })

    withFrontier('a released request goes back without a try', async ({ frontier }) => {
      await add(frontier, [page('/1')])
      const [lease] = await leaseAll(frontier)
      await settle(frontier, lease, { state: 'released' })
      const [again] = await leaseAll(frontier)
      assert.equal(again?.attempt, 1)
      assert.deepEqual(frontier.outcomes(), [])
    })

    withFrontier('a run that was left unfinished goes on', async (opened) => {
      const { frontier } = opened
      assert.equal(await frontier.seedFrom([page('/1'), page('/2'), page('/3')].map(withFingerprint), 7), 3)
      const [one, two] = await leaseAll(frontier, 2)
      await settle(frontier, one, { state: 'done' })
      await settle(frontier, two, { state: 'retry', reason: 'http 503', afterMs: 0, counted: true })
      await frontier.markStarted()
      await frontier.end('stopped', false)
      const { seed } = frontier.job
      const later = await opened.reopen()
      assert.equal(later.frontier.job.resumed, true)
      assert.equal(later.frontier.job.started, true)
      assert.equal(later.frontier.job.position, 7)
      assert.equal(later.frontier.job.seed, seed)
      assert.equal(await add(later.frontier, [page('/1'), page('/3')]), 0)
      const leases = await leaseAll(later.frontier)
      assert.deepEqual(leases.map((lease) => [pathOf(lease), lease.attempt]).sort(), [['/2', 2], ['/3', 1]])
      assert.deepEqual(later.frontier.outcomes().find(({ state }) => state === 'done')?.count, 1)
      return later
    })

    withFrontier('what was leased when the process ended is leased again', async (opened) => {
      await add(opened.frontier, [page('/1')])
      await leaseAll(opened.frontier)
      const later = await opened.reopenKilled()
      const [lease] = await leaseAll(later.frontier)
      assert.equal(lease?.attempt, 1)
      assert.equal(lease?.interruptions, 1)
      return later
    })

    withFrontier('a request that the process never survives is given up in the end, and those beside it are not', async (opened) => {
      let current = opened
      await add(current.frontier, [page('/poison'), ...Array.from({ length: 5 }, (_, n) => page(`/good${n}`))])
      for (let round = 0; round < 3; round++) {
        assert.equal((await leaseAll(current.frontier)).length, 6)
        current = await current.reopenKilled()
      }
      // From here on they are leased one by one.
      for (let round = 0; round < 2; round++) {
        for (let leases = await leaseAll(current.frontier); ; leases = await leaseAll(current.frontier)) {
          assert.equal(leases.length, 1)
          assert.deepEqual(await leaseAll(current.frontier), [])
          if (leases[0]?.request.url.endsWith('poison')) break
          await settle(current.frontier, leases[0], { state: 'done' })
        }
        assert.deepEqual(current.frontier.givenUp, [])
        current = await current.reopenKilled()
      }
      assert.deepEqual(current.frontier.givenUp.map(({ url }) => url), ['http://a.example/poison'])
      while (current.frontier.counts().pending > 0) await settle(current.frontier, (await leaseAll(current.frontier))[0], { state: 'done' })
      assert.deepEqual(current.frontier.counts(), { pending: 0, delayed: 0, leased: 0, failed: 1 })
      const outcomes = current.frontier.outcomes().map(({ state, reason, count }) => [state, reason, count])
      assert.deepEqual(outcomes.sort(), [['done', '', 5], ['failed', 'crash', 1]])
      return current
    })

    withFrontier('a suspect is fetched alone, and stays one when it is put back', async (opened) => {
      let current = opened
      await add(current.frontier, [page('/suspect')])
      for (let round = 0; round < 3; round++) {
        assert.equal((await leaseAll(current.frontier)).length, 1)
        current = await current.reopenKilled()
      }
      const [suspect] = await leaseAll(current.frontier)
      await add(current.frontier, [page('/1'), page('/2')])
      assert.deepEqual(await leaseAll(current.frontier), [])
      await settle(current.frontier, suspect, { state: 'released' })
      assert.deepEqual((await leaseAll(current.frontier)).map(pathOf), ['/1', '/2'])
      assert.equal(current.frontier.counts().pending, 1)
      return current
    })

    withFrontier('a request that was leased when its process ended in order is not suspected', async (opened) => {
      await add(opened.frontier, [page('/1')])
      let current = opened
      for (let round = 0; round < 6; round++) {
        const [lease] = await leaseAll(current.frontier)
        assert.equal(lease?.interruptions, 0)
        current = await current.reopen()
      }
      return current
    })

    withFrontier('an odd name of a slot is a name like any other', async (opened) => {
      const names = ['\ud800', 'a\0b', `'; drop table request; --`, '__proto__', '', 'é😀'.repeat(1_000)]
      await add(opened.frontier, names.map((slot, index) => page(`/${index}`, { slot })))
      const later = await opened.reopen()
      assert.deepEqual((await leaseAll(later.frontier)).map(pathOf).sort(), ['/0', '/1', '/2', '/3', '/4', '/5'])
      return later
    })

    withFrontier('a run that has ended is followed by a new one', async (opened) => {
      await add(opened.frontier, [page('/1')])
      await opened.frontier.end('finished', true)
      const later = await opened.reopen()
      assert.equal(later.frontier.job.resumed, false)
      assert.equal(await add(later.frontier, [page('/1')]), 1)
      return later
    })

    withFrontier('what was learned of a host outlives the process', async (opened) => {
      const until = Date.now() + 600_000
      await add(opened.frontier, [page('/1'), new Request('http://slow.example/')])
      opened.slots.pauseUntil('a.example', until, 'http 429')
      opened.slots.setLeastDelay('slow.example', 30_000, 'crawl-delay')
      const later = await opened.reopen()
      assert.equal(later.slots.readyAt('a.example'), until)
      assert.equal(later.slots.leastDelayOf('slow.example'), 30_000)
      const { leases, waitMs } = await later.frontier.lease(10)
      assert.deepEqual(leases, [])
      assert.ok(waitMs > 20_000 && waitMs <= 45_000, String(waitMs))
      return later
    })
  })
}
