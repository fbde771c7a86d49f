import type Database from 'libsql'
import type { DistinctCount } from '../dupe-filter/open.ts'
import { isCrawlError, messageOf, StorageError } from '../errors.ts'
import { Request } from '../http/request.ts'
import type { Log } from '../log.ts'
import type { Slots, Visit } from '../slots/slots.ts'
import { storageError } from './failure.ts'
import type { Frontier, FrontierCounts, Lease, Leased, NewRequest, Outcome, OutcomeCount, Settlement } from './frontier.ts'
import { GroupCommit } from './group-commit.ts'
import { Job } from './job.ts'
import { lockFrontier, type FrontierLock } from './lock.ts'
import { closeFile, openFile } from './open-file.ts'
import { OutcomeCounts } from './outcome-counts.ts'
import { Queues } from './queues.ts'
import type { Row } from './read-ahead.ts'
import { Seen, type SeenOptions } from './seen.ts'
import { keepSlot, nameSlots, readSlots } from './slot-rows.ts'
import { maxInterruptions, prepareStatements, state, type Statements } from './tables.ts'
import { Writes, type SeenValues } from './writes.ts'

export interface EmbeddedFrontierOptions {
  /** The SQLite file. */
  readonly path: string
  /** Begin a new run even if the last one has not ended. */
  readonly fresh: boolean
  /** Politeness: what may be visited when. What it has learned is kept here and given back at the start. */
  readonly slots: Slots
  readonly dupeFilter: SeenOptions['dupeFilter'] & { readonly bits: 64 | 128 }
  /** Of requests of one priority at one host: found first goes first (`breadth`), or found last (`depth`). */
  readonly order: 'breadth' | 'depth'
  /** `full`: what is committed survives a power cut. */
  readonly synchronous: 'normal' | 'full'
  /** Which of two requests at one host goes first. */
  readonly priorityOf: (request: Request) => number
  /** The settings that tell requests apart, by path: a change is noticed when the run is resumed. */
  readonly identity: Readonly<Record<string, unknown>>
  readonly log: Log
  /** Ends the waiting for a disk that is full. */
  readonly signal: AbortSignal
  readonly outageMs: number
}

interface HeldLease extends Lease {
  readonly seq: number
  /** The slot in whose line it was. */
  readonly slot: string
}

/** The frontier of one process, in one SQLite file. Known fingerprints, slots and counts are answered from memory. */
export class EmbeddedFrontier implements Frontier {
  readonly job: Job
  readonly givenUp: readonly Request[]
  readonly #options: EmbeddedFrontierOptions
  readonly #database: Database.Database
  readonly #writes: Writes
  readonly #commits: GroupCommit
  readonly #statements: Statements
  readonly #lock: FrontierLock
  readonly #seen: Seen
  readonly #queues: Queues
  readonly #leased = new Map<string, HeldLease>()
  readonly #outcomes = new OutcomeCounts()
  readonly #unwatch: () => void
  #lastSeq: number
  #delayed = 0
  #failed = 0
  #suspects = 0
  #nextDue = Infinity
  /** The suspect that is leased alone. */
  #alone: string | undefined

  /** @throws StorageError when the file can't be used, or another process uses it. */
  constructor(options: EmbeddedFrontierOptions) {
    const { path, slots, log, dupeFilter } = options
    this.#options = options
    this.#lock = lockFrontier(path)
    let database: Database.Database | undefined
    try {
      database = openFile({ ...options, wasAbandoned: this.#lock.wasAbandoned })
      this.#database = database
      this.#statements = prepareStatements(database)
      this.#writes = new Writes(this.#statements)
      this.#commits = new GroupCommit({ ...options, database, writes: this.#writes })
      this.job = new Job({ database, statements: this.#statements, bits: dupeFilter.bits, identity: options.identity })
      this.#seen = new Seen({ database, statements: this.#statements, bits: this.job.bits, dupeFilter, onGrown: (message) => log.warn({ path }, message) })
      this.#queues = new Queues({ slots, read: (slot, limit) => this.#select(slot, limit), isLastFirst: options.order === 'depth' })
      this.#lastSeq = (this.#statements.lastSeq.get() as { seq: number | null }).seq ?? 0
      this.givenUp = this.#takeBackLeases()
      nameSlots(database, slots)
      slots.restore(readSlots(database))
      this.#load()
      // From here on a lock of another program is waited for without keeping everything else from its turn.
      database.exec('pragma busy_timeout = 50')
    } catch (error) {
      database?.close()
      this.#lock.release(!this.#lock.wasAbandoned)
      throw isCrawlError(error) ? error : storageError(error, path)
    }
    this.#unwatch = slots.onMemory((memory) => {
      this.#write(() => keepSlot(this.#statements, memory)).catch((error: unknown) => {
        log.error({ slot: memory.slot, error }, `what was learned of ${memory.slot} could not be kept: ${messageOf(error)}`)
      })
    })
  }

  get hasImports(): boolean {
    return this.#seen.hasImports
  }

  has(fingerprint: string, url: string): boolean {
    return this.#seen.has(fingerprint, url)
  }

  hasImported(sha1: string): boolean {
    return this.#seen.hasImported(sha1)
  }

  async add(requests: readonly NewRequest[]): Promise<number> {
    return this.#commit(requests)
  }

  async seedFrom(requests: readonly NewRequest[], position: number): Promise<number> {
    return this.#commit(requests, () => this.#writes.run(() => this.job.markPosition(position)))
  }

  async lease(limit: number): Promise<Leased> {
    if (this.#commits.away) return { leases: [], waitMs: 250 }
    // Its settlement wakes whoever waits.
    if (this.#alone !== undefined) return { leases: [], waitMs: Infinity }
    const leases: HeldLease[] = []
    try {
      this.#promoteDue(Date.now())
      while (leases.length < limit && !this.#commits.away) {
        const next = this.#queues.take()
        if (next === undefined) break
        const { row, visit } = next
        // The mark is committed with what comes next; it only tells a later start that this request was begun.
        if (this.#hold(row, visit, leases) !== undefined) void this.#commits.apply(() => this.#writes.lease(row.seq)).catch(() => undefined)
      }
      let opensAt = this.#queues.nextAt()
      if (this.#suspects > 0 && this.#queues.size === 0 && this.#leased.size === 0) opensAt = this.#leaseSuspect(leases)
      return { leases, waitMs: Math.max(1, Math.min(opensAt, this.#delayed === 0 ? Infinity : this.#nextDue) - Date.now()) }
    } catch (error) {
      throw isCrawlError(error) ? error : storageError(error, this.#options.path)
    }
  }

  async settle(settlements: readonly Settlement[]): Promise<void> {
    const requests: NewRequest[] = []
    const ends: (() => void)[] = []
    for (const { lease, outcome, children = [], met } of settlements) {
      const held = this.#leased.get(lease.id)
      if (held === undefined) continue
      this.#leased.delete(lease.id)
      if (this.#alone === lease.id) this.#alone = undefined
      requests.push(...children)
      const seen = met === undefined ? undefined : this.#seen.add(met.fingerprint, met.url)
      const end = this.#end(held, outcome)
      ends.push(() => {
        if (seen !== undefined) this.#writes.insertSeen(seen)
        end()
      })
      this.#account(held, outcome)
    }
    if (ends.length > 0) await this.#commit(requests, () => ends.forEach((end) => end()))
    for (const { met } of settlements) if (met !== undefined) this.#seen.written(met.fingerprint)
  }

  counts(): FrontierCounts {
    return { pending: this.#queues.size + this.#delayed + this.#suspects, delayed: this.#delayed, leased: this.#leased.size, failed: this.#failed }
  }

  outcomes(): readonly OutcomeCount[] {
    return this.#outcomes.list()
  }

  distinct(): DistinctCount {
    return this.#seen.distinct()
  }

  async markStarted(): Promise<void> {
    await this.#write(() => this.job.markStarted())
  }

  async end(reason: string, isComplete: boolean): Promise<void> {
    await this.#write(() => this.job.markEnd(reason, isComplete))
  }

  async close(): Promise<void> {
    this.#options.slots.flush()
    this.#unwatch()
    this.#queues.close()
    try {
      await this.#commits.close()
    } finally {
      closeFile(this.#database, this.#options.path, this.#options.log)
      this.#lock.release()
    }
  }

  /** Adds the requests that are new in one transaction with what else is to be written. Answers how many were new. */
  async #commit(requests: readonly NewRequest[], prepare = (): void => {}): Promise<number> {
    const { order, priorityOf, slots } = this.#options
    const rows: { seen: SeenValues | undefined; seq: number; slot: string; priority: number; body: string; fingerprint: string }[] = []
    const bodies = requests.map(({ request }) => JSON.stringify(request))
    for (const [index, { request, fingerprint }] of requests.entries()) {
      const seen = this.#seen.add(fingerprint, request.url)
      if (seen === undefined && !request.dontFilter) continue
      const seq = order === 'breadth' ? ++this.#lastSeq : -++this.#lastSeq
      const slot = slots.nameOf(request.slot)
      const priority = priorityOf(request)
      rows.push({ seen, seq, slot, priority, body: bodies[index] as string, fingerprint })
      this.#queues.add(slot, priority)
    }
    const expire = rows.length > 0 ? this.#seen.expire() : undefined
    await this.#commits.apply(() => {
      for (const { seen, seq, slot, priority, body } of rows) {
        if (seen !== undefined) this.#writes.insertSeen(seen)
        this.#writes.insert(seq, slot, priority, body)
      }
      prepare()
      if (expire !== undefined) this.#writes.run(expire)
    })
    for (const { fingerprint } of rows) this.#seen.written(fingerprint)
    return rows.length
  }

  #write(write: () => void): Promise<void> {
    return this.#commits.apply(() => this.#writes.run(write))
  }

  /** Reads after what has been written: nothing that was leased or has ended is seen as pending. */
  #select(slot: string, limit: number): Row[] {
    this.#commits.flush()
    if (this.#commits.away) return []
    const rows = this.#statements.select.all(slot, limit) as Row[]
    if (rows.length > 0) return rows
    throw new StorageError(`The frontier ${this.#options.path} has lost requests for ${slot}: it was changed while the crawl ran. Run the same command again.`)
  }

  /** A lease that is there at the start belongs to a process that ended without settling it. */
  #takeBackLeases(): Request[] {
    const poison: Request[] = []
    this.#database.exec('begin immediate')
    // A process that has ended in order may have left leases too: it was not they that ended it.
    if (this.#lock.wasAbandoned) this.#statements.countInterruption.run()
    for (const row of this.#statements.poison.all() as Row[]) {
      const request = this.#read(row)
      if (request === undefined) continue
      poison.push(request)
      this.#end({ seq: row.seq, request }, { state: 'failed', reason: 'crash', message: 'the process ended whenever this was fetched' })()
    }
    this.#writes.flush()
    this.#statements.takeBack.run()
    this.#database.exec('commit')
    return poison
  }

  #load(): void {
    this.#outcomes.load(this.#database)
    for (const { slot, count } of this.#statements.pendingBySlot.all() as { slot: string; count: number }[]) this.#queues.putBack(slot, count)
    const held = this.#statements.held.all() as { state: number; count: number; due: number }[]
    const delayed = held.find((row) => row.state === state.delayed)
    this.#delayed = delayed?.count ?? 0
    this.#nextDue = delayed?.due ?? Infinity
    this.#failed = held.find((row) => row.state === state.failed)?.count ?? 0
    this.#suspects = held.find((row) => row.state === state.suspect)?.count ?? 0
  }

  #promoteDue(now: number): void {
    if (this.#delayed === 0 || this.#nextDue > now) return
    this.#commits.flush()
    if (this.#commits.away) return
    const due = this.#statements.dueBySlot.all(now) as { slot: string; pending: number; count: number }[]
    void this.#write(() => this.#statements.promote.run(now)).catch(() => undefined)
    this.#commits.flush()
    for (const { slot, pending, count } of due) {
      if (pending > 0) this.#queues.putBack(slot, pending)
      this.#suspects += count - pending
      this.#delayed -= count
    }
    this.#nextDue = (this.#statements.nextDue.get() as { due: number | null }).due ?? Infinity
  }

  /** One of the requests that may be what ends the process, when nothing else is in progress. Else answers when one may be visited. */
  #leaseSuspect(leases: HeldLease[]): number {
    const { slots } = this.#options
    let opensAt = Infinity
    this.#commits.flush()
    if (this.#commits.away) return opensAt
    for (const { seq, slot } of this.#statements.suspects.all() as Pick<Row, 'seq' | 'slot'>[]) {
      const visit = slots.tryEnter(slot)
      if (visit === undefined) {
        opensAt = Math.min(opensAt, slots.readyAt(slot))
        continue
      }
      this.#suspects--
      const lease = this.#hold(this.#statements.find.get(seq) as Row, visit, leases)
      if (lease === undefined) return 0
      this.#alone = lease.id
      void this.#write(() => this.#statements.leaseAlone.run(seq)).catch(() => undefined)
      return Infinity
    }
    return opensAt
  }

  #hold(row: Row, visit: Visit, leases: HeldLease[]): HeldLease | undefined {
    const { seq, slot, attempts, patience, interruptions } = row
    const request = this.#read(row)
    if (request === undefined) {
      visit.cancel()
      return undefined
    }
    const lease: HeldLease = { id: `${seq}.${attempts}.${patience}`, seq, slot, request, visit, attempt: attempts + 1, patience, interruptions }
    this.#leased.set(lease.id, lease)
    leases.push(lease)
    return lease
  }

  /** A row that can't be read, in a file that was damaged, fails by itself. */
  #read({ seq, body }: Row): Request | undefined {
    try {
      return Request.fromJSON(JSON.parse(body))
    } catch (error) {
      const outcome = { state: 'failed', reason: 'unreadable', message: messageOf(error) } as const
      const lease = { seq, request: { kind: 'page' } } as const
      this.#options.log.error({ seq, error }, `a request of the frontier ${this.#options.path} can't be read: ${messageOf(error)}`)
      void this.#commits.apply(this.#end(lease, outcome)).catch(() => undefined)
      this.#account({ ...lease, slot: '', interruptions: 0 }, outcome)
      return undefined
    }
  }

  /** What writes the end of a lease. Its times are of this moment, however late it can be written. */
  #end({ seq, request }: Pick<HeldLease, 'seq'> & { readonly request: Pick<Request, 'kind'> }, outcome: Outcome): () => void {
    const { release, delay, fail } = this.#statements
    const writes = this.#writes
    switch (outcome.state) {
      case 'released':
        return () => writes.run(() => release.run(seq))
      case 'retry': {
        const due = Date.now() + outcome.afterMs
        const [counted, uncounted] = outcome.counted ? [1, 0] : [0, 1]
        return () => {
          writes.run(() => delay.run(due, counted, uncounted, outcome.reason, seq))
          writes.countOutcome(request.kind, outcome.state, outcome.reason)
        }
      }
      case 'failed':
        return () => {
          writes.run(() => fail.run(outcome.reason, outcome.message?.replaceAll('\0', '') ?? null, seq))
          writes.countOutcome(request.kind, outcome.state, outcome.reason)
        }
      default:
        return () => {
          writes.remove(seq)
          writes.countOutcome(request.kind, outcome.state, outcome.state === 'done' ? '' : outcome.reason)
        }
    }
  }

  #account({ slot, request, interruptions }: Pick<HeldLease, 'slot' | 'interruptions'> & { readonly request: Pick<Request, 'kind'> }, outcome: Outcome): void {
    if (outcome.state === 'released') {
      if (interruptions < maxInterruptions.shared) this.#queues.putBack(slot)
      else this.#suspects++
      return
    }
    if (outcome.state === 'failed') this.#failed++
    if (outcome.state === 'retry') {
      this.#delayed++
      this.#nextDue = Math.min(this.#nextDue, Date.now() + outcome.afterMs)
    }
    this.#outcomes.add(request.kind, outcome)
  }
}
