import type Database from 'libsql'
import { randomBytes } from 'node:crypto'
import { compareIdentity } from './identity.ts'
import type { ChangedSetting, JobState } from './frontier.ts'
import { readMeta, type Statements } from './tables.ts'

export interface JobOptions {
  readonly database: Database.Database
  readonly statements: Statements
  /** Length of the fingerprints of a job that begins. */
  readonly bits: 64 | 128
  /** The settings that tell requests apart, by path. */
  readonly identity: Readonly<Record<string, unknown>>
}

/** What is remembered of a run as a whole. One that was made for fingerprints to be imported has not begun. */
export class Job implements JobState {
  readonly resumed: boolean
  readonly started: boolean
  readonly position: number
  readonly seed: bigint
  readonly bits: 64 | 128
  readonly changes: readonly ChangedSetting[]
  readonly #statements: Statements

  /** Begins it, or goes on with it. */
  constructor({ database, statements, bits, identity }: JobOptions) {
    const meta = readMeta(database)
    const seed = meta.get('seed') ?? randomBytes(8).toString('hex')
    this.#statements = statements
    this.resumed = meta.has('begun')
    this.started = meta.has('started')
    this.position = Number(meta.get('position') ?? 0)
    this.seed = BigInt(`0x${seed}`)
    this.bits = Number(meta.get('bits') ?? bits) as 64 | 128
    this.changes = this.resumed ? compareIdentity(meta.get('identity'), identity) : []
    database.exec('begin immediate')
    if (!this.resumed) statements.mark.run('begun', new Date().toISOString())
    statements.mark.run('seed', seed)
    statements.mark.run('bits', String(this.bits))
    statements.mark.run('identity', JSON.stringify(identity))
    statements.unmark.run('ending')
    database.exec('commit')
  }

  /** Remembers that so many start requests have been taken. */
  markPosition(position: number): void {
    this.#statements.mark.run('position', String(position))
  }

  /** Remembers that `start()` has been consumed. */
  markStarted(): void {
    this.#statements.mark.run('started', new Date().toISOString())
  }

  /** Remembers how its process has ended, in a word, and whether the run has. */
  markEnd(reason: string, isComplete: boolean): void {
    const now = new Date().toISOString()
    this.#statements.mark.run('ending', JSON.stringify({ reason, at: now }))
    if (isComplete) this.#statements.mark.run('ended', now)
  }
}
