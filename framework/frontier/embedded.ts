import type Database from 'libsql'
import { isCrawlError } from '../errors.ts'
import { Request } from '../http/request.ts'
import type { Log } from '../log.ts'
import { lockFrontier, openDatabase, prepareStatements, removeDatabase, state, type Statements } from './embedded-schema.ts'
import { FingerprintTable, halves } from './fingerprint-table.ts'
import type { Demand, Frontier, FrontierCounts, Lease, Leased, Outcome, OutcomeCount, Settlement, SlotPause } from './frontier.ts'
import { GroupCommit, storageError } from './group-commit.ts'

export interface EmbeddedFrontierOptions {
  /** The SQLite file. */
  readonly path: string
  /** Computes what tells requests apart. */
  readonly fingerprint: (request: Request) => string
  /** Begin a new run even if the last one has not ended. */
  readonly fresh: boolean
  readonly log: Log
  /** Ends the waiting for a disk that is full. */
  readonly signal: AbortSignal
  readonly outageMs: number
}

interface Row {
  readonly seq: number
  readonly attempts: number
  readonly patience: number
  readonly interruptions: number
  readonly body: string
}

interface HeldLease extends Lease {
  readonly seq: number
}

/** The frontier of one process, in one SQLite file. Known fingerprints, slots and counts are answered from memory. */
export class EmbeddedFrontier implements Frontier {
  readonly resumed: boolean
  readonly started: boolean
  readonly givenUp: readonly Request[]
  readonly #options: EmbeddedFrontierOptions
  readonly #database: Database.Database
  readonly #commits: GroupCommit
  readonly #statements: Statements
  readonly #unlock: () => void
  readonly #seen = new FingerprintTable()
  /** How many requests are pending in each slot, the slot that has waited longest first. */
  readonly #pending = new Map<string, number>()
  readonly #leased = new Map<string, HeldLease>()
  readonly #pauses = new Map<string, number>()
  readonly #outcomes = new Map<string, OutcomeCount>()
  #pendingTotal = 0
  #delayed = 0
  #failed = 0
  #suspects = 0
  #nextDue = Infinity

  /** @throws StorageError when the file can't be used, or another process uses it. */
  constructor(options: EmbeddedFrontierOptions) {
    this.#options = options
    this.#unlock = lockFrontier(options.path)
    let database: Database.Database | undefined
    try {
      database = openDatabase(options.path)
      let marks = readMarks(database)
      if (options.fresh || marks.has('ended')) {
        database.close()
        removeDatabase(options.path)
        database = openDatabase(options.path)
        marks = new Set()
      }
      this.#database = database
      this.resumed = marks.has('begun')
      this.started = marks.has('started')
      this.#statements = prepareStatements(database)
      this.#commits = new GroupCommit({ ...options, database })
      this.#statements.mark.run('begun', new Date().toISOString())
      this.givenUp = this.#takeBackLeases()
      this.#load()
    } catch (error) {
      database?.close()
      this.#unlock()
      throw isCrawlError(error) ? error : storageError(error, options.path)
    }
  }

  has(fingerprint: string): boolean {
    const [high, low] = halves(fingerprint)
    return this.#seen.has(high, low)
  }

  async add(requests: readonly Request[]): Promise<number> {
    const rows = requests.map((request) => ({ request, fingerprint: halves(this.#options.fingerprint(request)), body: JSON.stringify(request) }))
    const added: (() => void)[] = []
    for (const { request, fingerprint, body } of rows) {
      const [high, low] = fingerprint
      const isNew = this.#seen.add(high, low)
      if (!isNew && !request.dontFilter) continue
      added.push(() => {
        if (isNew) this.#statements.insertSeen.run(high, low)
        this.#statements.insert.run(request.slot, request.priority, body)
      })
      this.#changePending(request.slot, 1)
    }
    if (added.length > 0) await this.#commits.apply(() => added.forEach((write) => write()))
    return added.length
  }

  async lease(demand: Demand): Promise<Leased> {
    if (this.#commits.away) return { leases: [], waitMs: 250 }
    const now = Date.now()
    this.#promoteDue(now)
    const leases: HeldLease[] = []
    for (const slot of this.#pending.keys()) {
      if (leases.length >= demand.limit || this.#commits.away) break
      if (!demand.fullSlots.has(slot) && (this.#pauses.get(slot) ?? 0) <= now) {
        this.#leaseFrom(slot, Math.min(demand.perSlot, demand.limit - leases.length), leases)
      }
    }
    for (const { request } of leases) this.#moveToEnd(request.slot)
    if (this.#suspects > 0 && this.#pendingTotal === 0 && this.#leased.size === 0) this.#leaseSuspect(demand, leases)
    return { leases, waitMs: this.#delayed === 0 ? Infinity : Math.max(1, this.#nextDue - now) }
  }

  async settle(settlements: readonly Settlement[]): Promise<void> {
    const writes: (() => void)[] = []
    for (const { lease, outcome, met } of settlements) {
      const held = this.#leased.get(lease.id)
      if (held === undefined) continue
      this.#leased.delete(lease.id)
      const [high, low] = met === undefined ? [0, 0] : halves(met)
      const isNew = met !== undefined && this.#seen.add(high, low)
      writes.push(() => {
        if (isNew) this.#statements.insertSeen.run(high, low)
        this.#write(held, outcome)
      })
      this.#account(held, outcome)
    }
    if (writes.length > 0) await this.#commits.apply(() => writes.forEach((write) => write()))
  }

  async pauseSlot(slot: string, until: number): Promise<void> {
    this.#pauses.set(slot, until)
    await this.#commits.apply(() => this.#statements.pause.run(slot, until))
  }

  pauses(): readonly SlotPause[] {
    const now = Date.now()
    for (const [slot, until] of this.#pauses) if (until <= now) this.#pauses.delete(slot)
    return [...this.#pauses].map(([slot, until]) => ({ slot, until }))
  }

  counts(): FrontierCounts {
    return { pending: this.#pendingTotal + this.#delayed + this.#suspects, delayed: this.#delayed, leased: this.#leased.size, failed: this.#failed }
  }

  outcomes(): readonly OutcomeCount[] {
    return [...this.#outcomes.values()]
  }

  async mark(mark: 'started' | 'ended'): Promise<void> {
    await this.#commits.apply(() => this.#statements.mark.run(mark, new Date().toISOString()))
  }

  async close(): Promise<void> {
    try {
      await this.#commits.close()
    } finally {
      this.#database.close()
      this.#unlock()
    }
  }

  /** A lease that is there at the start belongs to a process that ended without settling it. */
  #takeBackLeases(): Request[] {
    this.#database.exec('begin immediate')
    this.#statements.countInterruption.run()
    const poison = (this.#statements.poison.all() as Row[]).map((row) => this.#hold(row))
    for (const lease of poison) this.#write(lease, { state: 'failed', reason: 'crash', message: 'the process ended whenever this was fetched' })
    this.#statements.takeBack.run()
    this.#database.exec('commit')
    this.#leased.clear()
    return poison.map(({ request }) => request)
  }

  #load(): void {
    for (const row of this.#database.prepare('select high, low from seen').raw().iterate()) {
      const [high, low] = row as [number, number]
      this.#seen.add(high, low)
    }
    for (const outcome of this.#database.prepare('select kind, state, reason, count from outcome').all() as OutcomeCount[]) {
      this.#outcomes.set(outcomeKey(outcome), outcome)
    }
    for (const { slot, until } of this.#database.prepare('select slot, until from pause').all() as SlotPause[]) {
      this.#pauses.set(slot, until)
    }
    this.#loadPending()
  }

  #loadPending(): void {
    this.#pending.clear()
    this.#pendingTotal = 0
    for (const { slot, count } of this.#statements.pendingBySlot.all() as { slot: string; count: number }[]) this.#changePending(slot, count)
    const held = this.#statements.held.all() as { state: number; count: number; due: number }[]
    this.#failed = held.find((row) => row.state === state.failed)?.count ?? 0
    const delayed = held.find((row) => row.state === state.delayed)
    this.#delayed = delayed?.count ?? 0
    this.#suspects = held.find((row) => row.state === state.suspect)?.count ?? 0
    this.#nextDue = delayed?.due ?? Infinity
  }

  #promoteDue(now: number): void {
    if (this.#delayed === 0 || this.#nextDue > now) return
    const due = this.#statements.dueBySlot.all(now) as { slot: string; count: number }[]
    void this.#commits.apply(() => this.#statements.promote.run(now)).catch(() => undefined)
    for (const { slot, count } of due) {
      this.#changePending(slot, count)
      this.#delayed -= count
    }
    this.#nextDue = (this.#statements.nextDue.get() as { due: number | null }).due ?? Infinity
  }

  #leaseFrom(slot: string, limit: number, leases: HeldLease[]): void {
    const rows = this.#statements.select.all(slot, limit) as Row[]
    for (const row of rows) {
      leases.push(this.#hold(row))
      // The mark is committed with what comes next; it only tells a later start that this request was begun.
      void this.#commits.apply(() => this.#statements.lease.run(row.seq)).catch(() => undefined)
    }
    this.#changePending(slot, -rows.length)
  }

  /** One of the requests that may be what ends the process, when nothing else is in progress. */
  #leaseSuspect({ fullSlots }: Demand, leases: HeldLease[]): void {
    for (const row of this.#statements.suspects.all() as Row[]) {
      const lease = this.#hold(row)
      if (fullSlots.has(lease.request.slot)) {
        this.#leased.delete(lease.id)
        continue
      }
      leases.push(lease)
      this.#suspects--
      void this.#commits.apply(() => this.#statements.leaseAlone.run(row.seq)).catch(() => undefined)
      return
    }
  }

  #hold({ seq, attempts, patience, interruptions, body }: Row): HeldLease {
    const request = Request.fromJSON(JSON.parse(body))
    const lease: HeldLease = { id: `${seq}.${attempts}.${patience}`, seq, request, attempt: attempts + 1, patience, interruptions }
    this.#leased.set(lease.id, lease)
    return lease
  }

  #write({ seq, request }: HeldLease, outcome: Outcome): void {
    const statements = this.#statements
    if (outcome.state === 'released') statements.release.run(seq)
    else {
      if (outcome.state === 'retry') statements.delay.run(Date.now() + outcome.afterMs, outcome.counted ? 1 : 0, outcome.counted ? 0 : 1, outcome.reason, seq)
      else if (outcome.state === 'failed') statements.fail.run(outcome.reason, outcome.message ?? null, seq)
      else statements.remove.run(seq)
      statements.countOutcome.run(request.kind, outcome.state, 'reason' in outcome ? outcome.reason : '')
    }
  }

  #account({ request }: HeldLease, outcome: Outcome): void {
    if (outcome.state === 'released') return this.#changePending(request.slot, 1)
    if (outcome.state === 'failed') this.#failed++
    if (outcome.state === 'retry') {
      this.#delayed++
      this.#nextDue = Math.min(this.#nextDue, Date.now() + outcome.afterMs)
    }
    const counted = { kind: request.kind, state: outcome.state, reason: 'reason' in outcome ? outcome.reason : '' }
    const key = outcomeKey(counted)
    this.#outcomes.set(key, { ...counted, count: (this.#outcomes.get(key)?.count ?? 0) + 1 })
  }

  #changePending(slot: string, by: number): void {
    const count = (this.#pending.get(slot) ?? 0) + by
    this.#pendingTotal += by
    if (count > 0) this.#pending.set(slot, count)
    else this.#pending.delete(slot)
  }

  #moveToEnd(slot: string): void {
    const count = this.#pending.get(slot)
    if (count === undefined) return
    this.#pending.delete(slot)
    this.#pending.set(slot, count)
  }
}

function readMarks(database: Database.Database): Set<string> {
  return new Set((database.prepare('select name from meta').all() as { name: string }[]).map(({ name }) => name))
}

const outcomeKey = (outcome: Omit<OutcomeCount, 'count'>): string => `${outcome.kind}\n${outcome.state}\n${outcome.reason}`
