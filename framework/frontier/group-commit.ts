import type Database from 'libsql'
import { delay } from '../async/signal.ts'
import { messageOf, StorageError } from '../errors.ts'
import type { Log } from '../log.ts'

interface Operation {
  readonly run: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export interface GroupCommitOptions {
  readonly database: Database.Database
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
 * One transaction for everything that comes within a few milliseconds. Operations run at once inside the open
 * transaction, so that reads on this connection see them; their promises resolve after the commit. What isn't committed
 * when the process is killed hasn't been acknowledged either. A full disk is waited out, and the operations run again.
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

  /** True while the file can't be written: what is read doesn't show the operations that wait. */
  get away(): boolean {
    return this.#recovery !== undefined || this.#failure !== undefined
  }

  /** Runs `run` in the open transaction and resolves after its commit. `run` is called again when that fails. */
  apply(run: () => void): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#isClosed) return Promise.reject(new StorageError(`The frontier ${this.#options.path} is closed.`))
    return new Promise((resolve, reject) => {
      this.#operations.push({ run, resolve, reject })
      if (this.#recovery !== undefined) return
      try {
        if (!this.#options.database.inTransaction) this.#options.database.exec('begin immediate')
        run()
      } catch (error) {
        this.#recovery = this.#recover(error)
        return
      }
      if (this.#operations.length >= maxOperations) this.#commit()
      else this.#timer ??= setTimeout(() => this.#commit(), waitMs)
    })
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
      this.#options.database.exec('commit')
    } catch (error) {
      this.#recovery = this.#recover(error)
      return
    }
    for (const { resolve } of this.#operations.splice(0)) resolve()
  }

  async #recover(cause: unknown): Promise<void> {
    const { database, path, log, signal, outageMs } = this.#options
    clearTimeout(this.#timer)
    this.#timer = undefined
    const giveUpAt = Date.now() + outageMs
    let error = cause
    for (let pauseMs = 250; ; pauseMs = Math.min(pauseMs * 2, 10_000)) {
      if (database.inTransaction) database.exec('rollback')
      if (!isPassing(error) || Date.now() + pauseMs > giveUpAt) break
      log.warn({ path, error: messageOf(error) }, `the frontier ${path} can't be written (${messageOf(error)}); trying again`)
      try {
        await delay(pauseMs, signal)
      } catch {
        break
      }
      const count = this.#operations.length
      try {
        database.exec('begin immediate')
        for (const { run } of this.#operations.slice(0, count)) run()
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

/** What went wrong with the frontier's file, and what to do. */
export function storageError(error: unknown, path: string): StorageError {
  const text = messageOf(error)
  if (/full/i.test(text)) return new StorageError(`The disk is full: the frontier ${path} can't be written. Free some space, then run the same command again.`, { reason: 'disk is full', cause: error })
  if (/readonly|read-only|unable to open/i.test(text)) {
    return new StorageError(`The frontier ${path} can't be written: ${text}. Check the rights of its folder, or set dataDir.`, { cause: error })
  }
  if (/not a database|malformed|corrupt/i.test(text)) {
    return new StorageError(`The frontier ${path} is damaged or no frontier: ${text}. Move it away to start anew; images that are kept stay known.`, { cause: error })
  }
  return new StorageError(`The frontier ${path} failed: ${text}.`, { cause: error })
}
