import { createHash } from 'node:crypto'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'libsql'
import sharp from 'sharp'
import { Agent } from 'undici'
import type { Meter } from './meter.ts'
import { imagePath } from './page-html.ts'
import type { Job } from './scenarios.ts'

const rowsPerTransaction = 50

// No image is seen twice, so keeping results costs CPU for nothing.
sharp.cache(false)

interface ImageRow {
  readonly url: string
  readonly sha256: string
  readonly bytes: number
  readonly differenceHash: string
  readonly key: string
}

/**
 * The least that harvesting can cost: fetch to a file, hash the bytes and the look, rename, write a row.
 * No dedupe, no fsync, no retry.
 */
export async function harvestImages({ origin, items, concurrency, folder }: Job, meter: Meter): Promise<void> {
  const agent = new Agent({ connections: concurrency, pipelining: 1, allowH2: false })
  const unfinished = join(folder, 'tmp')
  const kept = join(folder, 'files')
  await Promise.all([mkdir(unfinished), mkdir(kept)])
  const table = new ImageTable(join(folder, 'images.db'))
  let next = 0

  const work = async (): Promise<void> => {
    while (next < items) {
      const number = next
      next += 1
      const path = imagePath(number)
      const temporary = join(unfinished, `${number}`)
      const { statusCode, body } = await agent.request({ origin, path, method: 'GET' })
      if (statusCode !== 200) throw new Error(`${origin}${path} answered ${statusCode}`)
      const { sha256, bytes } = await writeFileHashing(temporary, body)
      const differenceHash = await hashLook(temporary)
      const key = `${sha256}.jpg`
      await rename(temporary, join(kept, key))
      table.add({ url: origin + path, sha256, bytes, differenceHash, key })
      meter.count()
    }
  }

  try {
    await Promise.all(Array.from({ length: concurrency }, work))
  } finally {
    table.close()
    await agent.destroy()
  }
}

async function writeFileHashing(path: string, body: AsyncIterable<Buffer>): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256')
  const file = await open(path, 'wx')
  let bytes = 0
  try {
    for await (const chunk of body) {
      hash.update(chunk)
      bytes += chunk.length
      await file.write(chunk)
    }
  } finally {
    await file.close()
  }
  return { sha256: hash.digest('hex'), bytes }
}

/** dHash: one bit for each pixel of 8 rows that is brighter than its right neighbour. */
async function hashLook(path: string): Promise<string> {
  // Read here: libvips would map the file into memory, which costs a millisecond of system time an image.
  const pixels = await sharp(await readFile(path)).greyscale().resize(9, 8, { fit: 'fill' }).raw().toBuffer()
  let bits = 0n
  for (let row = 0; row < 8; row += 1) {
    for (let column = 0; column < 8; column += 1) {
      const at = row * 9 + column
      bits = (bits << 1n) | ((pixels[at] ?? 0) > (pixels[at + 1] ?? 0) ? 1n : 0n)
    }
  }
  return bits.toString(16).padStart(16, '0')
}

/** Rows by prepared statement, a transaction for every 50. */
class ImageTable {
  readonly #database: Database.Database
  readonly #insert: Database.Statement
  #waiting: ImageRow[] = []

  constructor(path: string) {
    this.#database = new Database(path)
    this.#database.exec('pragma journal_mode = wal; pragma synchronous = normal')
    this.#database.exec(
      'create table images (id integer primary key, url text unique, sha256 text, bytes integer, difference_hash text, key text)',
    )
    this.#database.exec('create index images_sha256 on images (sha256)')
    this.#insert = this.#database.prepare('insert into images (url, sha256, bytes, difference_hash, key) values (?, ?, ?, ?, ?)')
  }

  add(row: ImageRow): void {
    this.#waiting.push(row)
    if (this.#waiting.length >= rowsPerTransaction) this.#flush()
  }

  close(): void {
    this.#flush()
    this.#database.close()
  }

  #flush(): void {
    const rows = this.#waiting
    this.#waiting = []
    this.#database.transaction(() => {
      for (const row of rows) this.#insert.run(row.url, row.sha256, row.bytes, row.differenceHash, row.key)
    })()
  }
}
