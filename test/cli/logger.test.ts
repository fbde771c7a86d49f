import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Logger, type LoggerOptions } from '../../framework/cli/logger.ts'

function open(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = []
  const clock = { now: 1_000_000 }
  const log = new Logger({ level: 'info', json: false, colour: false, write: (text) => lines.push(text), now: () => clock.now, ...options })
  return { log, lines, clock, messages: () => lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /, '')) }
}

const failed = { url: 'http://cats.example/1', reason: 'timeout' }

describe('the log', () => {
  test('the same of the same host is written once a minute, then with a count', () => {
    const { log, clock, messages } = open()
    for (let count = 0; count < 5; count++) log.warn({ ...failed, url: `http://cats.example/${count}` }, `page failed: timeout (${count})`)
    log.warn({ ...failed, url: 'http://dogs.example/' }, 'page failed: timeout (dogs)')
    log.warn({ ...failed, reason: 'reset' }, 'page failed: reset')
    clock.now += 60_000
    log.warn(failed, 'page failed: timeout (5)')
    log.warn(failed, 'page failed: timeout (6)')
    log.flush()
    assert.deepEqual(messages(), [
      'warn: page failed: timeout (0)\n',
      'warn: page failed: timeout (dogs)\n',
      'warn: page failed: reset\n',
      'warn: page failed: timeout (5) (and 4 more like it)\n',
      'warn: cats.example: 1 more like it: timeout\n',
    ])
  })

  test('at the level debug every line is written', () => {
    const { log, lines } = open({ level: 'debug' })
    for (let count = 0; count < 5; count++) log.warn(failed, 'page failed')
    assert.equal(lines.length, 5)
  })

  test('a line is one line, whatever a page has put into it', () => {
    const { log, messages } = open()
    log.warn({}, 'page failed: \x1b[2J\x1b]0;owned\x07not found\n00:00:00 info: all is well')
    assert.deepEqual(messages(), ['warn: page failed: [2J]0;ownednot found 00:00:00 info: all is well\n'])
  })

  test('the stack of an error is shown at the level debug only', () => {
    const { log, lines } = open()
    const error = new Error('broken')
    log.error({ error }, 'it broke')
    assert.doesNotMatch(lines.join(''), /logger\.test/)
    log.setLevel('debug')
    log.error({ error }, 'it broke')
    assert.match(lines.join(''), /logger\.test/)
  })

  test('as JSON it keeps the fields, with errors as objects', () => {
    const { log, lines } = open({ json: true })
    log.warn({ ...failed, error: new Error('broken') }, 'page failed')
    const { time, level, url, reason, msg, error } = JSON.parse(lines[0] ?? '') as Record<string, unknown>
    assert.match(String(time), /^\d{4}-/)
    assert.deepEqual([level, url, reason, msg, (error as Error).message], ['warn', failed.url, 'timeout', 'page failed', 'broken'])
  })
})
