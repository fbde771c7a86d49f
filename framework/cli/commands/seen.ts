import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isCrawlError, messageOf, SettingsError } from '../../errors.ts'
import { exportSeen } from '../../frontier/export-seen.ts'
import { importSeen } from '../../frontier/import-seen.ts'
import { commandLine } from '../command-line.ts'
import { exitCode } from '../exit-code.ts'
import { formatCount, formatCounted } from '../format.ts'
import { findPlace, type JobsOptions } from '../jobs.ts'
import { createPaint } from '../paint.ts'

export interface SeenExportCommandOptions extends JobsOptions {
  readonly spider: string
  readonly output?: string
}

export interface SeenImportCommandOptions extends JobsOptions {
  readonly spider: string
  readonly file: string
  readonly json?: boolean
}

/** `crawl seen export SPIDER` */
export async function exportSeenOf({ spider, output, ...options }: SeenExportCommandOptions): Promise<number> {
  // Before the project's folder becomes the current one.
  const target = output === undefined || output === '-' ? undefined : resolve(output)
  const { name, path, settings } = await findPlace(spider, options)
  if (!existsSync(path)) {
    throw new SettingsError(`There is no job of ${name}: it has met nothing. \`${commandLine('run', name)}\` begins one.`)
  }
  const text = exportSeen({ path, ttlMs: settings.dupeFilter.ttlMs })
  const parts = Readable.from(text, { objectMode: false, highWaterMark: 1 << 16 })
  if (target !== undefined) {
    await writeWhole(parts, target)
    process.stderr.write(`The fingerprints of ${name} are in ${target}.\n`)
  } else {
    // Whoever reads it may have read enough.
    await pipeline(parts, process.stdout, { end: false }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
  return exitCode.done
}

/** A file with this name is there when all of it is written, and not before. */
async function writeWhole(parts: Readable, target: string): Promise<void> {
  const part = `${target}.part`
  try {
    await pipeline(parts, createWriteStream(part, { flush: true }))
    await rename(part, target)
  } catch (cause) {
    await rm(part, { force: true })
    throw isCrawlError(cause) ? cause : new SettingsError(`${target} can't be written: ${messageOf(cause)}`, { cause })
  }
}

/** `crawl seen import SPIDER FILE` */
export async function importSeenInto({ spider, file, json, ...options }: SeenImportCommandOptions): Promise<number> {
  const source = resolve(file)
  const { name, path, command = commandLine('run', spider) } = await findPlace(spider, options)
  const result = await importSeen({ path, file: source })
  if (json === true) {
    process.stdout.write(`${JSON.stringify({ spider: name, ...result })}\n`)
    return exitCode.done
  }
  const { format, read, imported, isBegun } = result
  const paint = createPaint(process.stdout)
  const known = read === imported ? '' : `; ${formatCount(read - imported)} were known or there twice`
  const origin = format === 'scrapy' ? 'Scrapy' : 'orbweaver'
  const next = isBegun ? 'goes on where it stopped' : 'begins, and fetches none of them'
  const what = `${formatCounted(imported, 'fingerprint')} of ${origin} imported${known}`
  process.stdout.write(`${what}. ${name} takes their requests for met.\n`)
  process.stdout.write(`${paint('dim', 'next')}  ${paint('cyan', command)}  ${next}\n`)
  return exitCode.done
}
