import type Database from 'libsql'
import { delay } from '../async/signal.ts'
import { messageOf, StorageError } from '../errors.ts'
import type { Log } from '../log.ts'
import { storageError } from './failure.ts'
import type { Writes } from './writes.ts'

interface Operation {
  readonly prepare: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export interface GroupCommitOptions {
  readonly database: Database.Database
  /** What operations add to, written before each commit. */
  readonly writes: Pick<Writes, 'flush' | 'clear' | 'isLarge'>
  readonly path: string
  readonly log: Log
  /** Ends the waiting for a full disk or a lock. */
  readonly signal: AbortSignal
  /** Milliseconds that a disk that is full, or a lock, is waited for. */
  readonly outageMs: number
}

/** Milliseconds that a transaction stays open for further operations. */
const waitMs = 5
/** A transaction holds at most so many operations. */
const maxOperations = 1_000

/**
 * One transaction for everything that comes within a few milliseconds. Operations say what is to be written; their promises
 * resolve after the commit. What isn't committed when the process is killed hasn't been acknowledged either. A full disk is
 * waited out, and the operations are made again.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  #operations: Operation[] = []
  #timer: NodeJS.Timeout | undefined
  #recovery: Promise<void> | undefined
  #failure: StorageError | undefined
  #isClosed = false

  constructor(options: GroupCommitOptions) {
    this.#options = options
  }

  /**
   * True while the file can't be written: what is read doesn't show the operations that wait.
   * @throws StorageError when it could not be written for too long: nothing more will be.
   */
  get away(): boolean {
    if (this.#failure !== undefined) throw this.#failure
    return this.#recovery !== undefined
  }

  /** Has `prepare` add to the writes, and resolves after their commit. `prepare` is called again when that fails. */
  apply(prepare: () => void): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#isClosed) return Promise.reject(new StorageError(`The frontier ${this.#options.path} is closed.`))
    return new Promise((resolve, reject) => {
      this.#operations.push({ prepare, resolve, reject })
      if (this.#recovery !== undefined) return
      prepare()
      if (this.#options.writes.isLarge) this.flush()
      if (this.#operations.length >= maxOperations) this.#commit()
      else this.#timer ??= setTimeout(() => this.#commit(), waitMs)
    })
  }

  /** Writes what waits, so that it can be read on this connection. It is committed later, with what comes until then. */
  flush(): void {
    if (this.#operations.length === 0 || this.#recovery !== undefined) return
    try {
      this.#write()
    } catch (error) {
      this.#recovery = this.#recover(error)
    }
  }

  /** Commits what waits, and takes nothing more. Rejects when it can't be written. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#commit()
    await this.#recovery
    if (this.#failure !== undefined) throw this.#failure
  }

  #commit(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#operations.length === 0 || this.#recovery !== undefined) return
    try {
      this.#write()
      this.#options.database.exec('commit')
    } catch (error) {
      this.#recovery = this.#recover(error)
      return
    }
    for (const { resolve } of this.#operations.splice(0)) resolve()
  }

  #write(): void {
    const { database, writes } = this.#options
    if (!database.inTransaction) database.exec('begin immediate')
    writes.flush()
  }

  async #recover(cause: unknown): Promise<void> {
    const { database, writes, path, log, signal, outageMs } = this.#options
    clearTimeout(this.#timer)
    this.#timer = undefined
    const giveUpAt = Date.now() + outageMs
    let error = cause
    for (let pauseMs = 250; ; pauseMs = Math.min(pauseMs * 2, 10_000)) {
      if (database.inTransaction) database.exec('rollback')
      writes.clear()
      if (!isPassing(error) || Date.now() + pauseMs > giveUpAt) break
      log.warn({ path, error: messageOf(error) }, `the frontier ${path} can't be written (${messageOf(error)}); trying again`)
      try {
        await delay(pauseMs, signal)
      } catch {
        break
      }
      const count = this.#operations.length
      try {
        // One by one: what is written by kind keeps its order only between two reads, and there are none here.
        for (const { prepare } of this.#operations.slice(0, count)) {
          prepare()
          this.#write()
        }
        database.exec('commit')
        this.#recovery = undefined
        for (const { resolve } of this.#operations.splice(0, count)) resolve()
        return
      } catch (next) {
        error = next
      }
    }
    this.#failure = storageError(error, path)
    this.#recovery = undefined
    for (const { reject } of this.#operations.splice(0)) reject(this.#failure)
  }
}

/** Errors that may pass: a full disk, a lock held by a reader. */
function isPassing(error: unknown): boolean {
  return /SQLITE_(FULL|BUSY|LOCKED)|disk is full|database is locked/i.test(`${(error as { code?: string }).code} ${messageOf(error)}`)
}
