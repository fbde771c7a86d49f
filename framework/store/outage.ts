import { delay } from '../async/signal.ts'
import { CrawlError, isCrawlError, messageOf, StorageError } from '../errors.ts'
import type { Log } from '../log.ts'

export interface OutageOptions {
  /** Of the database, without a password. */
  readonly location: string
  readonly log: Log
  /** Ends the waiting. */
  readonly signal: AbortSignal
  /** Milliseconds that a database which is away is waited for. */
  readonly outageMs: number
}

const firstPauseMs = 100
const maxPauseMs = 10_000

/**
 * Waits until a database that is away, locked or full takes work again: all of the store's work waits together, so the
 * crawl stands still and goes on by itself.
 */
export class Outage {
  readonly #options: OutageOptions
  /** When the first work failed, ms since 1970; undefined while the database answers. */
  #since: number | undefined

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /**
   * Runs `work`, again and again while its failure may pass. It must be safe to repeat.
   * @throws StorageError after `outageMs`, or at once when the database can't be used; CrawlError when it refuses a row.
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { location, log, signal, outageMs } = this.#options
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        const result = await work()
        if (this.#since !== undefined) log.info({ database: location }, `the database ${location} is back`)
        this.#since = undefined
        return result
      } catch (error) {
        if (!isPassing(error)) throw explain(error, location)
        if (this.#since === undefined) log.warn({ database: location, error: driverMessage(error) }, `the database ${location} is away (${driverMessage(error)}): waiting for it`)
        this.#since ??= Date.now()
        const leftMs = this.#since + outageMs - Date.now()
        if (leftMs <= 0) throw explain(error, location)
        await delay(Math.min(pauseMs, leftMs), signal)
      }
    }
  }
}

const sqliteFull = /^SQLITE_(FULL|IOERR_WRITE)/
const sqliteAway = /^SQLITE_(BUSY|LOCKED|PROTOCOL)/
const sqliteDamaged = /^SQLITE_(CORRUPT|NOTADB)/
const sqliteRow = /^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH)/
/** Connection exceptions, serialization failures and deadlocks, too many connections, operator intervention (PostgreSQL, appendix A). */
const postgresAway = /^(08...|40001|40P01|533..|57...)$/
const postgresFull = /^53100$/
/** Data exceptions, constraint violations, program limits. */
const postgresRow = /^(22|23|54)...$/
const network = /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN)$/
/** What the drivers and the pool have no codes for; the last is how a transaction sees that its connection has gone. */
const awayMessage = /^(connection terminated|connection ended|knex: timeout acquiring|timeout expired|query read timeout|client has encountered a connection error|client was closed|transaction query already complete)/i

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

const isFull = (code: string): boolean => sqliteFull.test(code) || postgresFull.test(code) || code === 'ENOSPC' || code === 'EDQUOT'

/** True for what may be over in a while: a restart, a lock, a full disk. */
function isPassing(error: unknown): boolean {
  if (isCrawlError(error)) return false
  const code = codeOf(error)
  if (isFull(code) || sqliteAway.test(code) || postgresAway.test(code) || network.test(code)) return true
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isPassing)
  return code === '' && awayMessage.test(driverMessage(error))
}

/** What a failure means and what to do about it. An error that isn't the database's stays as it is. */
export function explain(error: unknown, location: string): unknown {
  if (isCrawlError(error)) return error
  const code = codeOf(error)
  const text = driverMessage(error)
  if (isFull(code)) {
    return new StorageError(`The disk is full: the database ${location} can't be written. Free some space, then run the same command again; nothing is lost.`, { reason: 'disk is full', cause: error })
  }
  if (sqliteAway.test(code)) {
    return new StorageError(`The database ${location} is locked by another program. Close it, then run the same command again; nothing is lost.`, { reason: 'database is away', cause: error })
  }
  if (isPassing(error)) {
    return new StorageError(`The database ${location} is away: ${text}. Is it started, and are host and port in the setting database right? Then run the same command again; nothing is lost.`, { reason: 'database is away', cause: error })
  }
  if (sqliteDamaged.test(code)) {
    return new StorageError(`${location} is damaged or no SQLite database: ${text}. Restore it from a backup, or set database to another file; it was left as it is.`, { reason: 'database is damaged', cause: error })
  }
  if (sqliteRow.test(code) || postgresRow.test(code)) {
    return new CrawlError('row', `The database refused a row: ${text}`, { reason: 'row refused', cause: error })
  }
  if (code === '28P01' || code === '28000') {
    return new StorageError(`The database ${location} refused the login: ${text}. Check user and password in the setting database.`, { cause: error })
  }
  if (code === '3D000') return new StorageError(`The database ${location} does not exist: make it with createdb, or correct the setting database.`, { cause: error })
  if (code.startsWith('SQLITE_') || /^[0-9A-Z]{5}$/.test(code)) {
    return new StorageError(`The database ${location} can't be used: ${text}. Check the rights of its file and folder or of its user, and the setting database.`, { cause: error })
  }
  return error
}

/** The query builder puts the whole statement, with the texts of pages in it, before what the driver said. */
function driverMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return messageOf(message.slice(message.lastIndexOf(' - ') + 1).replace(/^- /, ''))
}
