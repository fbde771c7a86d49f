import { isCrawlError, StorageError } from '../errors.ts'
import { storageError } from './failure.ts'
import { isOwn, openReadOnly } from './inspect.ts'
import { renderHeader } from './seen-file.ts'
import { readMeta } from './tables.ts'

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
      if (seed === undefined) throw new StorageError(`The frontier ${path} holds no fingerprints of orbweaver: no run has begun with it.`)
      let lines = [renderHeader({ bits: meta?.get('bits') === '128' ? 128 : 64, seed: BigInt(`0x${seed}`) })]
      const oldest = ttlMs === 0 ? 0 : Math.floor((Date.now() - ttlMs) / 1_000)
      const rows = database.prepare('select high, low, high2, low2 from seen where at = 0 or at >= ? order by n').raw().iterate(oldest)
      for (const row of rows) {
        const [high, low, high2, low2] = row as [number, number, number | null, number | null]
        lines.push(high2 === null || low2 === null ? hex(high) + hex(low) : hex(high) + hex(high2) + hex(low) + hex(low2))
        if (lines.length < linesPerPart) continue
        yield `${lines.join('\n')}\n`
        lines = []
      }
      if (lines.length > 0) yield `${lines.join('\n')}\n`
    } finally {
      database.close()
    }
  } catch (error) {
    throw isCrawlError(error) ? error : storageError(error, path)
  }
}

const hex = (word: number): string => word.toString(16).padStart(8, '0')
