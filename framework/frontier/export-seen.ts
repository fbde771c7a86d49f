import { isCrawlError, StorageError } from '../errors.ts'
import { storageError } from './failure.ts'
import { isOwn, openReadOnly } from './inspect.ts'
import { renderHeader } from './seen-file.ts'
import { endTransaction, readMeta } from './tables.ts'

export interface ExportSeenOptions {
  readonly path: string
  /** The setting `dupeFilter.ttlMs`: what is older counts as met no more. */
  readonly ttlMs: number
}

const linesPerPart = 2_000

/**
 * What a job has met, as text in parts: a line that says what the fingerprints were made with, then one fingerprint a line.
 * Of one moment, though the job runs.
 * @throws StorageError when there is nothing to be exported, or the file can't be read.
 */
export function* exportSeen({ path, ttlMs }: ExportSeenOptions): Generator<string, void> {
  try {
    const database = openReadOnly(path)
    try {
      database.exec('begin')
      const meta = isOwn(database, path) ? readMeta(database) : undefined
      const seed = meta?.get('seed')
      if (seed === undefined) throw new StorageError(`The frontier ${path} holds no fingerprints: no run has begun with it.`)
      let lines = [renderHeader({ bits: meta?.get('bits') === '128' ? 128 : 64, seed: BigInt(`0x${seed}`) })]
      const oldest = ttlMs === 0 ? 0 : Math.floor((Date.now() - ttlMs) / 1_000)
      const select = database.prepare('select high, low, high2, low2 from seen where at = 0 or at >= ? order by n').raw()
      for (const row of select.iterate(oldest)) {
        lines.push((row as (number | null)[]).map(hex).join(''))
        if (lines.length < linesPerPart) continue
        yield `${lines.join('\n')}\n`
        lines = []
      }
      if (lines.length > 0) yield `${lines.join('\n')}\n`
    } finally {
      endTransaction(database)
      database.close()
    }
  } catch (error) {
    throw isCrawlError(error) ? error : storageError(error, path)
  }
}

/** Fingerprints of 64 bits have two words, and nothing in the place of the other two. */
const hex = (word: number | null): string => word?.toString(16).padStart(8, '0') ?? ''
