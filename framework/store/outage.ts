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
        if (this.#since === undefined) {
          const text = driverMessage(error)
          log.warn({ database: location, error: text }, `the database ${location} is away (${text}): waiting for it`)
        }
        this.#since ??= Date.now()
        const leftMs = this.#since + outageMs - Date.now()
        if (leftMs <= 0) throw explain(error, location)
        await delay(Math.min(pauseMs, leftMs), signal)
      }
    }
  }
}

const full = /^(SQLITE_FULL|SQLITE_IOERR_WRITE|53100|ENOSPC|EDQUOT)/
const locked = /^SQLITE_(BUSY|LOCKED|PROTOCOL)/
const damaged = /^SQLITE_(CORRUPT|NOTADB)/
/** Of one row: SQLite's constraints; PostgreSQL's data exceptions, constraint violations, program limits. */
const row = /^(SQLITE_(CONSTRAINT|TOOBIG|MISMATCH).*|(22|23|54)...)$/
/** PostgreSQL, appendix A: connection exceptions, serialization, deadlock, too many connections, operator intervention. */
const postgresAway = /^(08...|40001|40P01|533..|57...)$/
const network = /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(HOST|NET)(UNREACH|DOWN))$/
/** What the drivers and the pool have no codes for. The last is how a transaction sees that its connection has gone. */
const awayMessages = [
  'connection terminated',
  'connection ended',
  'knex: timeout acquiring a connection',
  'timeout expired',
  'query read timeout',
  'client has encountered a connection error',
  'client was closed',
  'transaction query already complete',
]

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** True for what may be over in a while: a restart, a lock, a full disk. */
function isPassing(error: unknown): boolean {
  if (isCrawlError(error)) return false
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isPassing)
  const code = codeOf(error)
  if (code !== '') return [full, locked, postgresAway, network].some((passing) => passing.test(code))
  const message = driverMessage(error).toLowerCase()
  return awayMessages.some((away) => message.startsWith(away))
}

/** What a failure means and what to do about it. An error that isn't the database's stays as it is. */
export function explain(error: unknown, location: string): unknown {
  if (isCrawlError(error)) return error
  const code = codeOf(error)
  const text = driverMessage(error)
  const storageError = (reason: string, what: string, advice: string) =>
    new StorageError(`${what} ${advice}`, { reason, cause: error })
  const again = 'then run the same command again; nothing is lost.'
  if (full.test(code)) {
    return storageError('disk is full', `The disk is full: the database ${location} can't be written.`, `Free some space, ${again}`)
  }
  if (locked.test(code)) {
    return storageError('database is away', `The database ${location} is locked by another program.`, `Close it, ${again}`)
  }
  if (isPassing(error)) {
    const advice = `Start it if it isn't running, or correct host and port in the setting database, ${again}`
    return storageError('database is away', `The database ${location} is away: ${text}.`, advice)
  }
  if (damaged.test(code)) {
    const advice = 'Restore it from a backup, or set database to another file; it was left as it is.'
    return storageError('database is damaged', `${location} is damaged or no SQLite database: ${text}.`, advice)
  }
  if (row.test(code)) return new CrawlError('row', `The database refused a row: ${text}`, { reason: 'row refused', cause: error })
  if (code === '28P01' || code === '28000') {
    const advice = 'Check user and password in the setting database.'
    return storageError('login refused', `The database ${location} refused the login: ${text}.`, advice)
  }
  if (code === '3D000') {
    const advice = 'Make it with createdb, or correct the setting database.'
    return storageError('no such database', `The database ${location} does not exist.`, advice)
  }
  if (/unable to open/i.test(text)) {
    return storageError('database is unusable', `The database ${location} can't be opened.`, 'Check the rights of its folder, or set dataDir or database.')
  }
  if (code.startsWith('SQLITE_') || /^[0-9A-Z]{5}$/.test(code)) {
    const advice = 'Check the rights of its file and folder, or of its user, and the setting database.'
    return storageError('database is unusable', `The database ${location} can't be used: ${text}.`, advice)
  }
  return error
}

/** The query builder puts the whole statement, with the texts of pages in it, before what the driver said. */
function driverMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return messageOf(message.slice(message.lastIndexOf(' - ') + 1).replace(/^- /, ''))
}
