import { IndexedHeap, type HeapEntry } from './indexed-heap.ts'

/** A slot that has pending requests. */
interface Turn extends HeapEntry {
  readonly slot: string
  /** Pending requests. */
  count: number
  /** `ready`: in the ring; `waiting`: in the heap, for its time; `busy`: all its places are taken, so its next change decides. */
  state: 'ready' | 'waiting' | 'busy' | 'gone'
  /** ms since 1970, while it waits. */
  at: number
}

/**
 * Which slot is next: those that may be visited take turns, the others wait for their time in a heap. A ready slot is found
 * in O(log slots) however many there are, and nobody polls.
 */
export class Turns {
  readonly #readyAt: (slot: string) => number
  readonly #turns = new Map<string, Turn>()
  readonly #waiting = new IndexedHeap<Turn>()
  /** Slots in turn from `#first` on. Those that are not ready any more are passed over when they come. */
  #ring: Turn[] = []
  #first = 0
  #size = 0

  /** @param readyAt ms since 1970 from which a slot may be visited; `Infinity` while all its places are taken. */
  constructor(readyAt: (slot: string) => number) {
    this.#readyAt = readyAt
  }

  /** Pending requests of all slots. */
  get size(): number {
    return this.#size
  }

  /** `count` requests of a slot have become pending. One that had some keeps its turn. */
  add(slot: string, count = 1): void {
    this.#size += count
    const known = this.#turns.get(slot)
    if (known !== undefined) {
      known.count += count
      return
    }
    const turn: Turn = { slot, count, state: 'busy', at: 0, index: -1 }
    this.#turns.set(slot, turn)
    this.#place(turn)
  }

  /** A request of a slot that has some is pending no more. */
  take(slot: string): void {
    const turn = this.#turns.get(slot) as Turn
    this.#size--
    if (--turn.count > 0) return
    this.#turns.delete(slot)
    if (turn.state === 'waiting') this.#waiting.remove(turn)
    turn.state = 'gone'
  }

  /** The time at which a slot may be visited has changed. */
  changed(slot: string): void {
    const turn = this.#turns.get(slot)
    if (turn !== undefined && turn.state !== 'ready') this.#place(turn)
  }

  /** The slot whose turn it is, which goes to the end of the line; undefined when none may be visited now. */
  next(): string | undefined {
    this.#wake()
    for (;;) {
      const turn = this.#ring[this.#first]
      if (turn === undefined) return undefined
      this.#advance()
      if (turn.state !== 'ready') continue
      turn.state = 'busy'
      const isReady = this.#readyAt(turn.slot) <= Date.now()
      this.#place(turn)
      if (isReady) return turn.slot
    }
  }

  /** ms since 1970 from which a slot may be visited, as far as time alone decides. */
  nextAt(): number {
    return this.#first < this.#ring.length ? 0 : (this.#waiting.first?.at ?? Infinity)
  }

  #wake(): void {
    const now = Date.now()
    for (let turn = this.#waiting.first; turn !== undefined && turn.at <= now; turn = this.#waiting.first) this.#place(turn)
  }

  #place(turn: Turn): void {
    if (turn.state === 'waiting') this.#waiting.remove(turn)
    const at = this.#readyAt(turn.slot)
    if (at <= Date.now()) {
      turn.state = 'ready'
      this.#ring.push(turn)
    } else if (at === Infinity) turn.state = 'busy'
    else {
      turn.state = 'waiting'
      turn.at = at
      this.#waiting.add(turn)
    }
  }

  #advance(): void {
    this.#first++
    if (this.#first < 1_024 || this.#first * 2 < this.#ring.length) return
    this.#ring = this.#ring.slice(this.#first)
    this.#first = 0
  }
}
