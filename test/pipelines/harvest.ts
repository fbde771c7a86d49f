import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import sharp, { type Sharp } from 'sharp'
import type { Crawl, Item, Pipeline, SettingsInput, Stored } from 'orbweaver'
import { pipelines as builtIn } from 'orbweaver/pipelines'
import { compose } from '../../framework/compose.ts'
import type { Files } from '../../framework/files/files.ts'
import { openFiles } from '../../framework/files/open.ts'
import { inspectImage } from '../../framework/image/inspect.ts'
import type { FetchedItem } from '../../framework/item.ts'
import { silentLog } from '../../framework/log.ts'
import { loadSettings } from '../../framework/settings/load.ts'
import { Signals } from '../../framework/signals.ts'
import { Slots } from '../../framework/slots/slots.ts'
import { Stats } from '../../framework/stats.ts'
import { openStore } from '../../framework/store/open.ts'
import type { Store } from '../../framework/store/store.ts'

export interface Row {
  readonly id: number
  readonly url: string
  readonly status: string
  readonly path: string | null
  readonly duplicate_of: number | null
  readonly distance: number | null
  readonly review_of: number | null
  readonly review_distance: number | null
  readonly reason: string | null
}

export interface HarvestOptions {
  /** How often the image has been leased. Default 1. */
  readonly attempt?: number
}

/** Images through pipelines into a real database and a real folder, as a crawl does it after their download. */
export class Harvest {
  readonly folder: string
  readonly stats = new Stats()
  store!: Store
  files!: Files
  #run!: (item: FetchedItem, core: (item: FetchedItem) => Promise<Stored>) => Promise<Stored>

  private constructor(folder: string) {
    this.folder = folder
  }

  static async open(settings: SettingsInput = {}, pipelines: readonly Pipeline[] = builtIn): Promise<Harvest> {
    const harvest = new Harvest(mkdtempSync(join(tmpdir(), 'orbweaver-pipelines-')))
    await harvest.#open(settings, pipelines)
    return harvest
  }

  /** Closes everything and opens it again, as the next run does. */
  async reopen(settings: SettingsInput = {}, pipelines: readonly Pipeline[] = builtIn): Promise<void> {
    await this.store.close()
    await this.files.close()
    await this.#open(settings, pipelines)
  }

  /** Harvests bytes as the image `name`. */
  async keep(name: string, bytes: Buffer, { attempt = 1 }: HarvestOptions = {}): Promise<Stored> {
    const item: Item = { url: `https://site.test/${name}`, pageUrl: 'https://site.test/', data: {} }
    const known = (await this.store.found([item], 'gallery')).get(item.url)
    if (known === undefined) throw new Error(`no row for ${name}`)
    const path = this.files.temporaryPath()
    await writeFile(path, bytes)
    try {
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const image = await inspectImage({ path, size: bytes.length, sha256 }, { maxPixels: 100_000_000 })
      const { id, foundAt, site } = known
      return await this.#run({ ...item, id, foundAt, site, attempt, image }, async () => {
        throw new Error('nothing persisted the item')
      })
    } finally {
      await rm(path, { force: true })
    }
  }

  /** The rows by image name. */
  rows(): Record<string, Row> {
    const database = new Database(join(this.folder, 'crawl.db'))
    const columns = 'id, url, status, path, duplicate_of, distance, review_of, review_distance, reason'
    const rows = database.prepare(`select ${columns} from image order by id`).all() as Row[]
    database.close()
    return Object.fromEntries(rows.map((row) => [row.url.replace('https://site.test/', ''), row]))
  }

  row(name: string): Row {
    const row = this.rows()[name]
    if (row === undefined) throw new Error(`no row for ${name}`)
    return row
  }

  /** Keys of all files. */
  keys(): string[] {
    const folder = join(this.folder, 'images')
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .filter((key) => !key.startsWith('.tmp'))
      .sort()
  }

  async close(): Promise<void> {
    await this.store.close()
    await this.files.close()
    rmSync(this.folder, { recursive: true })
  }

  async #open(input: SettingsInput, pipelines: readonly Pipeline[]): Promise<void> {
    const { settings } = loadSettings({ program: input })
    const { signal } = new AbortController()
    const log = silentLog
    this.store = await openStore({ database: '', dataDir: this.folder, hash: settings.dedupe.hash, log, signal, outageMs: 0 })
    this.files = await openFiles({ files: '', dataDir: this.folder })
    const { store, files, stats } = this
    const slots = new Slots(settings)
    const signals = new Signals(log)
    const crawl: Crawl = {
      spider: 'gallery',
      allowedDomains: [],
      settings,
      store,
      files,
      slots,
      stats,
      signals,
      log,
      signal,
      onClose() {},
    }
    this.#run = compose(await Promise.all(pipelines.map((part) => part(crawl))))
  }
}

/** A picture with texture of its own for each `seed`, the same every time: soft hills of slightly coloured light. */
export function picture(seed: number, width = 800, height = 600): Sharp {
  const cells = Buffer.alloc(12 * 9 * 3)
  let state = seed * 7_919 + 17
  const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
  for (let cell = 0; cell < cells.length; cell += 3) {
    const light = 30 + 180 * random()
    for (let channel = 0; channel < 3; channel++) cells[cell + channel] = light + 40 * random()
  }
  return sharp(cells, { raw: { width: 12, height: 9, channels: 3 } }).resize(width, height, { fit: 'fill', kernel: 'cubic' })
}
