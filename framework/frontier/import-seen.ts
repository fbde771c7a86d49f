import type Database from 'libsql'
import { fingerprintParts } from '../dupe-filter/fingerprint-parts.ts'
import { SettingsError } from '../errors.ts'
import { editFile } from './edit-file.ts'
import { checkSeenFile, fingerprintsOf, type SeenFile, type SeenHeader } from './seen-file.ts'
import { readMeta } from './tables.ts'

export interface ImportSeenOptions {
  /** The frontier's file. It is made when there is none, or when its job has ended. */
  readonly path: string
  /** What `crawl seen export` has written, or Scrapy's `requests.seen`. */
  readonly file: string
}

export interface ImportedSeen {
  readonly format: 'orbweaver' | 'scrapy'
  /** Fingerprints in the file. */
  readonly read: number
  /** Of these: different ones that the job did not know. */
  readonly imported: number
  /** True when the job has begun, and goes on. */
  readonly isBegun: boolean
}

const stage = 'create temp table staged (high integer not null, low integer not null, high2 integer, low2 integer)'
/** A row for itself takes five times as long. */
const rowsPerInsert = 100
/** By sorting, not by an index: the memory for it is bounded, however many there are. */
const insertSeen = `insert into seen (high, low, high2, low2, host, at) select high, low, high2, low2, null, 0 from (
  select high, low, high2, low2, 1 as is_new from staged union all select high, low, high2, low2, 0 from seen
) group by high, low, high2, low2 having min(is_new) = 1`
const insertImported = `insert into imported (high, low) select high, low from (
  select high, low, 1 as is_new from staged union all select high, low, 0 from imported
) group by high, low having min(is_new) = 1`

/**
 * Has a job take fingerprints for met: all of a file, or none when something is wrong. Those of orbweaver can only be added
 * to a job with the same seed and length, or to one that has none yet and takes them over; those of Scrapy to any.
 * @throws SettingsError when a line is no fingerprint, or the job's fingerprints are others.
 * @throws StorageError when a process runs the job, or its file can't be written.
 */
export async function importSeen({ path, file }: ImportSeenOptions): Promise<ImportedSeen> {
  const seenFile = await checkSeenFile(file)
  const imported = await editFile(path, async (database): Promise<ImportedSeen> => {
    const { header, count } = seenFile
    const meta = readMeta(database)
    database.exec(`pragma temp_store = file; begin immediate; ${stage}`)
    if (header !== undefined) takeOver(database, meta, header, file)
    await stageAll(database, seenFile)
    const { changes } = database.prepare(header === undefined ? insertImported : insertSeen).run()
    database.exec('commit')
    const format = header === undefined ? 'scrapy' : 'orbweaver'
    return { format, read: count, imported: changes, isBegun: meta.has('begun') }
  })
  return imported as ImportedSeen
}

/** A job has one seed and one length of fingerprints. */
function takeOver(database: Database.Database, meta: ReadonlyMap<string, string>, header: SeenHeader, file: string): void {
  const { bits, seed } = header
  const own = meta.get('seed')
  if (own === undefined) {
    const mark = database.prepare('insert into meta values (?, ?)')
    mark.run('seed', seed.toString(16).padStart(16, '0'))
    mark.run('bits', String(bits))
    return
  }
  const ownBits = Number(meta.get('bits'))
  if (ownBits === bits && BigInt(`0x${own}`) === seed) return
  const other = `have ${bits} bits, and those of this job ${ownBits}`
  const problem = ownBits === bits ? 'were made with another seed than those of this job' : other
  const why = meta.has('begun') ? 'which has begun' : 'into which others were imported'
  const remedy = 'They can be imported into a job without any: end this one, or remove it with `crawl jobs clean --unfinished`.'
  const what = `The fingerprints of ${file} ${problem}, ${why}: they would never match.`
  throw new SettingsError(`${what} Nothing was imported. ${remedy}`)
}

async function stageAll(database: Database.Database, file: SeenFile): Promise<void> {
  const insert = (rows: number) => {
    const values = Array<string>(rows).fill('(?, ?, ?, ?)').join()
    return database.prepare(`insert into staged values ${values}`)
  }
  const insertOne = insert(1)
  const insertMany = insert(rowsPerInsert)
  const isScrapy = file.header === undefined
  let values: (number | null)[] = []
  for await (const fingerprints of fingerprintsOf(file)) {
    for (const fingerprint of fingerprints) {
      const [high, low, high2 = null, low2 = null] = fingerprintParts(isScrapy ? fingerprint.slice(0, 16) : fingerprint)
      if (values.push(high, low, high2, low2) < rowsPerInsert * 4) continue
      insertMany.run(values)
      values = []
    }
  }
  for (let at = 0; at < values.length; at += 4) insertOne.run(values.slice(at, at + 4))
}
