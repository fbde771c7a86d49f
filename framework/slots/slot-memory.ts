/** What is worth knowing about a slot in the next process. */
export interface SlotMemory {
  /** Its own name, as `Slots.nameOf` gives it. */
  readonly slot: string
  /** The delay in ms that was learned from how it answers; 0: none beyond what is set or asked for. */
  readonly delayMs: number
  /** The delay in ms that the host asks for; 0: none beyond the setting. */
  readonly leastDelayMs: number
  /** ms since 1970; 0: not paused. */
  readonly pausedUntil: number
  /** Why it is slow or paused; empty when it is neither. */
  readonly reason: string
}

/** Changes are gathered for so long: a delay moves with every answer. */
const gatherMs = 1_000

/** Tells what changed about slots, each at most once a second and not without its last change. One timer for all. */
export class SlotMemories {
  readonly #memoryOf: (slot: string) => SlotMemory
  readonly #listeners = new Set<(memory: SlotMemory) => void>()
  /** What was told last, of slots of which there is something to remember. */
  readonly #told = new Map<string, SlotMemory>()
  readonly #pending = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  /** @param memoryOf is asked when it is told, for slots that are forgotten too. */
  constructor(memoryOf: (slot: string) => SlotMemory) {
    this.#memoryOf = memoryOf
  }

  /** Answers the function that removes the listener. */
  onMemory(listener: (memory: SlotMemory) => void): () => void {
    this.#listeners.add(listener)
    if (this.#pending.size > 0) this.#wait()
    return () => this.#listeners.delete(listener)
  }

  /** A memory of an earlier process was given to the slot `name`; what no longer holds of it is told. */
  restored(memory: SlotMemory, name: string): void {
    this.#told.set(memory.slot, memory)
    this.#pending.add(memory.slot).add(name)
    if (this.#listeners.size > 0) this.#wait()
  }

  /** Something has changed, to be told within a second. */
  changed(slot: string): void {
    if (this.#listeners.size === 0) return
    this.#pending.add(slot)
    this.#wait()
  }

  /** The slot is forgotten: what was told of it is taken back. */
  forgotten(slot: string): void {
    if (this.#told.has(slot)) this.changed(slot)
  }

  /** Tells about this slot at once, if anything is new. */
  tell(slot: string): void {
    if (this.#listeners.size === 0) return
    this.#pending.delete(slot)
    const memory = this.#memoryOf(slot)
    const told = this.#told.get(slot)
    const isPlain = memory.delayMs === 0 && memory.leastDelayMs === 0 && memory.pausedUntil === 0
    if (told === undefined ? isPlain : isSame(memory, told)) return
    if (isPlain) this.#told.delete(slot)
    else this.#told.set(slot, memory)
    for (const listener of this.#listeners) listener(memory)
  }

  /** Tells all that is pending. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const slot of this.#pending) this.tell(slot)
  }

  #wait(): void {
    this.#timer ??= setTimeout(() => this.flush(), gatherMs).unref()
  }
}

function isSame(a: SlotMemory, b: SlotMemory): boolean {
  return a.delayMs === b.delayMs && a.leastDelayMs === b.leastDelayMs && a.pausedUntil === b.pausedUntil
}
