/** A request's row, as it is leased. */
export interface Row {
  readonly seq: number
  readonly slot: string
  readonly priority: number
  readonly attempts: number
  readonly patience: number
  readonly interruptions: number
  readonly body: string
}

/** Rows read at once from one slot. */
const rowsOfSlot = 8
/** With so many characters in memory, the next rows are read one by one. */
const maxSize = 16_000_000

/**
 * The next rows of some slots, read together. They are in memory but not leased: what becomes pending and goes before them
 * has them read again, and a kill finds them where they were.
 */
export class ReadAhead {
  readonly #read: (slot: string, limit: number) => Row[]
  readonly #isLastFirst: boolean
  readonly #rows = new Map<string, Row[]>()
  #size = 0

  /**
   * @param read the first pending rows of a slot, in their order.
   * @param isLastFirst of rows of one priority, the one that was added last goes first.
   */
  constructor(read: (slot: string, limit: number) => Row[], isLastFirst: boolean) {
    this.#read = read
    this.#isLastFirst = isLastFirst
  }

  /** The next row of a slot that has one. */
  take(slot: string): Row | undefined {
    let rows = this.#rows.get(slot)
    if (rows === undefined) {
      // The last goes first: taking from the end moves nothing.
      rows = this.#read(slot, this.#size < maxSize ? rowsOfSlot : 1).reverse()
      this.#rows.set(slot, rows)
      this.#size += sizeOf(rows)
    }
    const row = rows.pop()
    if (row !== undefined) this.#size -= row.body.length
    if (rows.length === 0) this.#rows.delete(slot)
    return row
  }

  /** A row of this priority was added to a slot. */
  added(slot: string, priority: number): void {
    const last = this.#rows.get(slot)?.[0]
    if (last !== undefined && (priority > last.priority || (this.#isLastFirst && priority === last.priority))) this.drop(slot)
  }

  /** Has the rows of a slot read again. */
  drop(slot: string): void {
    this.#size -= sizeOf(this.#rows.get(slot) ?? [])
    this.#rows.delete(slot)
  }
}

function sizeOf(rows: readonly Row[]): number {
  return rows.reduce((sum, { body }) => sum + body.length, 0)
}
