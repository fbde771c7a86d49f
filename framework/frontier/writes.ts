import type { Statements } from './tables.ts'

/** Columns of a row of `seen`: high, low, high2, low2, host, at. */
export type SeenValues = readonly [number, number, number | null, number | null, string | null, number]

/** Characters of requests. */
const maxSize = 16_000_000

/**
 * What is to be written in one transaction, many rows by one statement: a call of the database costs more than a row. Only
 * what has its order by itself is kept by kind: a row is inserted before it is leased, and leased before it ends.
 */
export class Writes {
  readonly #statements: Statements
  #seen: SeenValues[] = []
  #requests: [seq: number, slot: string, priority: number, body: string][] = []
  #leased = new Set<number>()
  #removed: number[] = []
  #others: (() => void)[] = []
  #outcomes = new Map<string, number>()
  #size = 0

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** True when so much is held that it should be written: one statement's text has a limit. */
  get isLarge(): boolean {
    return this.#size > maxSize
  }

  insertSeen(values: SeenValues): void {
    this.#seen.push(values)
  }

  insert(seq: number, slot: string, priority: number, body: string): void {
    this.#requests.push([seq, slot, priority, body])
    this.#size += body.length
  }

  lease(seq: number): void {
    this.#leased.add(seq)
  }

  /** A request that ends in the transaction in which it was leased needs no mark of that. */
  remove(seq: number): void {
    this.#leased.delete(seq)
    this.#removed.push(seq)
  }

  /** Anything else, after what is above and in the order of these calls. */
  run(write: () => void): void {
    this.#others.push(write)
  }

  countOutcome(kind: string, state: string, reason: string): void {
    const key = JSON.stringify([kind, state, reason])
    this.#outcomes.set(key, (this.#outcomes.get(key) ?? 0) + 1)
  }

  /** Writes it all in the open transaction. */
  flush(): void {
    const { insertSeen, insert, lease, remove, countOutcome } = this.#statements
    if (this.#seen.length > 0) insertSeen.run(JSON.stringify(this.#seen))
    if (this.#requests.length > 0) insert.run(JSON.stringify(this.#requests))
    if (this.#leased.size > 0) lease.run(JSON.stringify([...this.#leased]))
    if (this.#removed.length > 0) remove.run(JSON.stringify(this.#removed))
    for (const write of this.#others) write()
    for (const [key, count] of this.#outcomes) countOutcome.run(...(JSON.parse(key) as string[]), count)
    this.clear()
  }

  /** Forgets it all: it was written, or the transaction was rolled back. */
  clear(): void {
    this.#seen = []
    this.#requests = []
    this.#leased = new Set()
    this.#removed = []
    this.#others = []
    this.#outcomes = new Map()
    this.#size = 0
  }
}
