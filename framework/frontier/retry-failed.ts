import { existsSync } from 'node:fs'
import Database from 'libsql'
import { StorageError } from '../errors.ts'
import { editFile } from './edit-file.ts'
import { countFailures, inspectFrontier, type FailureCount } from './inspect.ts'
import { endTransaction, state } from './tables.ts'

const countLess = `update outcome set count = count - ? where kind = ? and state = 'failed' and reason = ?`
const forgetNone = `delete from outcome where state = 'failed' and count <= 0`
const putBack = `update request
  set state = ${state.pending}, due = 0, attempts = 0, patience = 0, interruptions = 0, reason = null, message = null
  where state = ${state.failed} and coalesce(?, reason) is reason`

/**
 * Puts the requests of a job that were given up back among those that wait, as if they had never been tried, and answers
 * how many those were. They count as failed no more. A job that has ended is then one that was stopped, so that the next run
 * goes on with them alone.
 * @param reason only requests that failed for it. Default: all.
 * @throws StorageError when there is no job, it can't be written, or a process runs it.
 */
export async function retryFailed(path: string, reason?: string): Promise<readonly FailureCount[]> {
  if (!existsSync(path)) throw new StorageError(`There is no frontier ${path}: nothing can have failed.`)
  const failures = await editFile(path, (database) => putBackFailed(database, reason ?? null), () => {
    const job = inspectFrontier(path)
    if (job?.failures.some((failure) => reason === undefined || failure.reason === reason) !== true) return false
    // An ended job would be removed as it is opened.
    if (job.endedAt !== undefined) reopen(path)
    return true
  })
  return failures ?? []
}

function reopen(path: string): void {
  const database = new Database(path, { timeout: 5_000 })
  try {
    database.exec('begin immediate')
    database.prepare(`delete from meta where name = 'ended'`).run()
    const ending = JSON.stringify({ reason: 'retry', at: new Date().toISOString() })
    database.prepare(`insert into meta values ('ending', ?) on conflict do update set value = excluded.value`).run(ending)
    database.exec('commit')
  } finally {
    endTransaction(database)
    database.close()
  }
}

function putBackFailed(database: Database.Database, reason: string | null): FailureCount[] {
  database.exec('begin immediate')
  const failures = countFailures(database, reason)
  const less = database.prepare(countLess)
  for (const { kind, reason: own, count } of failures) less.run(count, kind, own)
  database.prepare(forgetNone).run()
  database.prepare(putBack).run([reason])
  database.exec('commit')
  return failures
}
