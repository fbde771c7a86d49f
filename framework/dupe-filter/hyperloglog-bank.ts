import { checkDigits, wordAt, type LoadableDupeFilter } from './fingerprint-parts.ts'
import { grownPlaces, placeOf } from './open-addressing.ts'

export interface HyperLogLogBankOptions {
  /** URLs that it is made for. */
  readonly capacity: number
  /** Called once, when more than `capacity` URLs have been added: from then on it loses more. */
  readonly onGrown?: (() => void) | undefined
}

/** A HyperLogLog that holds so many URLs takes 0.52 % of new ones for known; on the way there 0.27 % in the mean. */
const urlsPerLog = 128
const registerBits = 14
const rankBits = 6
/** HyperLogLogs of one table: 12 bits, so that an entry is 32 bits wide. */
const maxLogsPerTable = 2 ** (32 - registerBits - rankBits)
const minTables = 256
const initialPlaces = 16
/** An entry is half as large as one of the exact filter, so that it may look at more of them. */
const maxLoad = 0.8

/**
 * A dupe filter that loses: a bank of HyperLogLogs of 16,384 registers for about 128 URLs each, where a URL that changes no
 * register is called known. Of n URLs in one of them a register holds about n / 16384, and two of three new URLs that meet
 * it don't change it: 0.27 % of new URLs are lost while the bank is filled to `capacity`, and 0.52 % of those that come
 * then. Its logs don't grow in number: beyond `capacity` the loss rises in proportion, to 1 % at twice as many. A Bloom
 * filter loses less, 0.1 %, in a third of the memory.
 *
 * Nearly all registers are 0, so only the others are kept: 5 to 7.5 bytes a URL, in tables of open addressing, each of which
 * grows alone. An entry is the number of its log in the table, of its register, and the rank.
 *
 * `high` and `low` of a fingerprint count, at 128 bits too.
 */
export class HyperLogLogBank implements LoadableDupeFilter {
  readonly #options: HyperLogLogBankOptions
  readonly #logs: number
  readonly #tables: Uint32Array[]
  /** Entries in each table. */
  readonly #sizes: Uint32Array
  #size = 0
  #bytes: number

  constructor(options: HyperLogLogBankOptions) {
    this.#options = options
    this.#logs = Math.ceil(options.capacity / urlsPerLog)
    const tables = Math.max(Math.min(minTables, this.#logs), Math.ceil(this.#logs / maxLogsPerTable))
    this.#tables = Array.from({ length: tables }, () => new Uint32Array(initialPlaces))
    this.#sizes = new Uint32Array(tables)
    this.#bytes = tables * initialPlaces * 4
  }

  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return this.#bytes
  }

  has(fingerprint: string): boolean {
    checkDigits(fingerprint, 64)
    const high = wordAt(fingerprint, 0)
    const low = wordAt(fingerprint, 8)
    const log = placeOf(high, this.#logs)
    const table = this.#tables[log % this.#tables.length] as Uint32Array
    const entry = this.#entryOf(log, low)
    return (table[find(table, entry)] as number) >= entry
  }

  add(fingerprint: string): boolean {
    checkDigits(fingerprint, 64)
    return this.addParts(wordAt(fingerprint, 0), wordAt(fingerprint, 8))
  }

  addParts(high: number, low: number): boolean {
    const log = placeOf(high, this.#logs)
    const index = log % this.#tables.length
    const entry = this.#entryOf(log, low)
    const table = this.#tables[index] as Uint32Array
    const at = find(table, entry)
    const found = table[at] as number
    // Of one register the entry with the higher rank is the greater number.
    if (found >= entry) return false
    table[at] = entry
    if (found === 0) this.#countEntry(index)
    this.#size += 1
    if (this.#size === this.#options.capacity + 1) this.#options.onGrown?.()
    return true
  }

  /** From bits that don't choose the log. Never 0, since a rank is at least 1. */
  #entryOf(log: number, low: number): number {
    const register = low >>> (32 - registerBits)
    const rank = Math.min(Math.clz32(low << registerBits), 32 - registerBits) + 1
    return (((Math.floor(log / this.#tables.length) << (registerBits + rankBits)) | (register << rankBits) | rank) >>> 0)
  }

  #countEntry(index: number): void {
    const size = (this.#sizes[index] as number) + 1
    this.#sizes[index] = size
    const old = this.#tables[index] as Uint32Array
    if (size <= old.length * maxLoad) return
    const table = new Uint32Array(grownPlaces(old.length))
    for (const entry of old) if (entry !== 0) table[find(table, entry)] = entry
    this.#tables[index] = table
    this.#bytes += table.byteLength - old.byteLength
  }
}

/** Index of the entry of the same register, whatever its rank, or of the free place where it belongs. */
function find(table: Uint32Array, entry: number): number {
  const key = entry >>> rankBits
  let at = placeOf(Math.imul(key, 0x9e3779b1), table.length)
  for (;;) {
    const found = table[at] as number
    if (found === 0 || found >>> rankBits === key) return at
    at += 1
    if (at === table.length) at = 0
  }
}
