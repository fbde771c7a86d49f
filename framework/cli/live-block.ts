import { stripVTControlCharacters } from 'node:util'

const hideCursor = '\x1b[?25l'
const showCursor = '\x1b[?25h'
const clearBelow = '\x1b[0J'

/** Redraws so often a second. */
const drawsPerSecond = 5

/**
 * A few lines at the bottom of a terminal that are drawn anew five times a second. Whatever else is written to standard
 * output and standard error appears above them, log lines as well as what a spider prints.
 */
export class LiveBlock {
  readonly #stream: NodeJS.WriteStream
  readonly #render: (columns: number) => readonly string[]
  readonly #undo: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  #lines: readonly string[] = []
  #drawn = 0
  #atLineStart = true
  #drawing = false

  /** @param render answers the lines; longer ones are cut. */
  constructor(stream: NodeJS.WriteStream, render: (columns: number) => readonly string[]) {
    this.#stream = stream
    this.#render = render
  }

  start(): void {
    const stop = () => this.stop()
    process.once('exit', stop)
    this.#undo.push(() => process.removeListener('exit', stop))
    for (const stream of new Set([this.#stream, process.stdout])) if (stream.isTTY) this.#watch(stream)
    this.#write(hideCursor)
    this.#timer = setInterval(() => this.#draw(), 1000 / drawsPerSecond)
  }

  /** Removes the lines and shows the cursor. */
  stop(): void {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#erase()
    this.#write(showCursor)
    for (const undo of this.#undo.splice(0)) undo()
  }

  #draw(): void {
    const columns = this.#stream.columns || 80
    this.#lines = this.#render(columns).map((line) => cut(line, columns - 1))
    this.#show()
  }

  #show(): void {
    const up = this.#drawn === 0 ? (this.#atLineStart ? '' : '\n') : `\r\x1b[${this.#drawn}A`
    this.#write(`${up}${clearBelow}${this.#lines.map((line) => `${line}\n`).join('')}`)
    this.#drawn = this.#lines.length
    this.#atLineStart = true
  }

  #erase(): void {
    if (this.#drawn > 0) this.#write(`\r\x1b[${this.#drawn}A${clearBelow}`)
    this.#drawn = 0
  }

  #write(text: string): void {
    this.#drawing = true
    try {
      this.#stream.write(text)
    } finally {
      this.#drawing = false
    }
  }

  /** Takes the lines away while anybody else writes. After half a line they come back with the next draw. */
  #watch(stream: NodeJS.WriteStream): void {
    const original = stream.write
    stream.write = ((...args: Parameters<typeof original>) => {
      if (this.#drawing) return original.apply(stream, args)
      this.#erase()
      const chunk: unknown = args[0]
      this.#atLineStart = chunk instanceof Uint8Array ? chunk.at(-1) === 10 : String(chunk).endsWith('\n')
      const isFlushed = original.apply(stream, args)
      if (this.#atLineStart) this.#show()
      return isFlushed
    }) as typeof original
    this.#undo.push(() => {
      stream.write = original
    })
  }
}

/** Cuts what would wrap: the terminal would count it as two lines. */
function cut(line: string, width: number): string {
  const text = stripVTControlCharacters(line)
  return text.length <= width ? line : `${text.slice(0, width - 1)}…`
}
