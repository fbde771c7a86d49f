import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { Writable } from 'node:stream'
import { describe, test } from 'node:test'
import { LiveBlock } from '../../framework/cli/live-block.ts'

/** A terminal that shows what is written to it: knows line feed, carriage return, cursor up, and clear below. */
class Screen extends Writable {
  readonly isTTY = true
  columns = 40
  rows: string[] = ['']
  cursorShown = true
  #row = 0
  #column = 0

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    for (const [token = ''] of chunk.toString().matchAll(/\p{Cc}\[\??\d*[A-Za-z]|[^]/gu)) this.#show(token)
    done()
  }

  get text(): string {
    return this.rows.map((row) => row.trimEnd()).join('\n')
  }

  #show(token: string): void {
    if (token === '\n') {
      this.#row++
      this.#column = 0
      this.rows[this.#row] ??= ''
    } else if (token === '\r') this.#column = 0
    else if (token.endsWith('A')) this.#row -= Number(token.slice(2, -1))
    else if (token === '\x1b[0J') {
      this.rows.length = this.#row + 1
      this.rows[this.#row] = (this.rows[this.#row] ?? '').slice(0, this.#column)
    } else if (token.startsWith('\x1b[?25')) this.cursorShown = token.endsWith('h')
    else {
      const row = (this.rows[this.#row] ?? '').padEnd(this.#column)
      this.rows[this.#row] = row.slice(0, this.#column) + token + row.slice(this.#column + 1)
      this.#column++
    }
  }
}

describe('the live block', () => {
  /** Waits until it has been drawn again. */
  function open(lines: () => string[]) {
    const screen = new Screen()
    const draws = new EventEmitter()
    const block = new LiveBlock(screen as unknown as NodeJS.WriteStream, () => {
      setImmediate(() => draws.emit('drawn'))
      return lines()
    })
    const drawn = () => once(draws, 'drawn')
    return { screen, block, drawn }
  }

  test('stays below what is logged, and leaves nothing behind', async () => {
    let count = 0
    const { screen, block, drawn } = open(() => [`pages ${++count > 1 ? 'many' : 'few'}`, 'images'])
    screen.write('first\n')
    block.start()
    try {
      assert.equal(screen.cursorShown, false)
      await drawn()
      assert.equal(screen.text, 'first\npages few\nimages\n')
      screen.write('second\n')
      assert.equal(screen.text, 'first\nsecond\npages few\nimages\n')
      await drawn()
      assert.equal(screen.text, 'first\nsecond\npages many\nimages\n')
      screen.write('half ')
      screen.write('a line\n')
      assert.equal(screen.text, 'first\nsecond\nhalf a line\npages many\nimages\n')
    } finally {
      block.stop()
    }
    assert.equal(screen.text, 'first\nsecond\nhalf a line\n')
    assert.equal(screen.cursorShown, true)
    screen.write('last\n')
    assert.equal(screen.text, 'first\nsecond\nhalf a line\nlast\n')
  })

  test('begins below a line that has not ended, and grows and shrinks', async () => {
    let lines = ['a', 'b', 'c']
    const { screen, block, drawn } = open(() => lines)
    block.start()
    try {
      await drawn()
      screen.write('loading')
      assert.equal(screen.text, 'loading')
      await drawn()
      assert.equal(screen.text, 'loading\na\nb\nc\n')
      lines = ['a']
      await drawn()
      assert.equal(screen.text, 'loading\na\n')
    } finally {
      block.stop()
    }
  })

  test('cuts lines that would wrap', async () => {
    const { screen, block, drawn } = open(() => ['x'.repeat(100)])
    block.start()
    try {
      await drawn()
      assert.equal(screen.text, `${'x'.repeat(38)}…\n`)
    } finally {
      block.stop()
    }
  })
})
