/** What a heap holds: it keeps the place of each, so that one can be taken out from the middle. */
export interface HeapEntry {
  readonly at: number
  index: number
}

/** A binary heap by `at`, the least first. Adding and removing take O(log n). */
export class IndexedHeap<Entry extends HeapEntry> {
  readonly #entries: Entry[] = []

  get first(): Entry | undefined {
    return this.#entries[0]
  }

  add(entry: Entry): void {
    this.#entries.push(entry)
    this.#rise(entry, this.#entries.length - 1)
  }

  remove(entry: Entry): void {
    const { index } = entry
    entry.index = -1
    const last = this.#entries.pop() as Entry
    if (last === entry) return
    this.#rise(last, index)
    this.#sink(last, last.index)
  }

  #rise(entry: Entry, from: number): void {
    let index = from
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = this.#entries[above] as Entry
      if (parent.at <= entry.at) break
      this.#put(parent, index)
      index = above
    }
    this.#put(entry, index)
  }

  #sink(entry: Entry, from: number): void {
    let index = from
    for (;;) {
      let below = index * 2 + 1
      const right = this.#entries[below + 1]
      if (right !== undefined && right.at < (this.#entries[below] as Entry).at) below++
      const child = this.#entries[below]
      if (child === undefined || child.at >= entry.at) break
      this.#put(child, index)
      index = below
    }
    this.#put(entry, index)
  }

  #put(entry: Entry, index: number): void {
    this.#entries[index] = entry
    entry.index = index
  }
}
