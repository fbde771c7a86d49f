import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { schema, type SettingsInput } from '../../framework/settings/schema.ts'
import { Slots } from '../../framework/slots/slots.ts'

type Names = Record<string, number>

const open = (hosts: SettingsInput['hosts'], by: 'host' | 'domain' = 'host') =>
  new Slots(schema.parse({ slot: { by, delayMs: 1, jitter: 0 }, hosts }))

/** A crawl where each of these names has this delay. */
const delays = (names: Names, by?: 'host' | 'domain') =>
  open(Object.fromEntries(Object.entries(names).map(([name, delayMs]) => [name, { delayMs }])), by)

describe('settings of hosts', () => {
  const given: Names = {
    'example.com': 10,
    'example.com:8080': 11,
    '*.example.com': 12,
    '*.img.example.com': 13,
    '*.img.example.com:81': 14,
    '[::1]': 15,
    '127.0.0.1:8080': 16,
    'BÜCHER.example': 17,
    own_name: 18,
  }

  test('the longest name that fits a slot counts', () => {
    const slots = delays(given)
    const expected: Names = {
      'example.com': 10,
      'EXAMPLE.com': 10,
      'example.com:81': 10,
      'example.com:8080': 11,
      'a.example.com': 12,
      'a.b.example.com:8080': 12,
      'img.example.com': 12,
      'a.img.example.com': 13,
      'a.b.img.example.com:80': 13,
      'a.img.example.com:81': 14,
      'notexample.com': 1,
      com: 1,
      '[::1]:8080': 15,
      '127.0.0.1:8080': 16,
      '127.0.0.1': 1,
      'xn--bcher-kva.example': 17,
      own_name: 18,
      '': 1,
    }
    const found = () => Object.fromEntries(Object.keys(expected).map((slot) => [slot, slots.delayOf(slot)]))
    assert.deepEqual(found(), expected)
    for (const slot of Object.keys(expected)) slots.tryEnter(slot)
    assert.deepEqual(found(), expected, 'in use too')
  })

  test('* fits what nothing else does', () => {
    const slots = delays({ '*': 5, '*.example.com': 6 })
    assert.deepEqual(['a.example.com', 'example.com', 'localhost:80', '[::1]'].map((slot) => slots.delayOf(slot)), [6, 5, 5, 5])
  })

  test('what a name doesn’t set is that of `slot`', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    const slots = open({
      'a.example': { concurrency: 3 },
      'b.example': { delayMs: 0, concurrency: 1 },
      'c.example': { delayMs: 1_000, jitter: 0.5 },
    })
    const enter = (slot: string) => slots.tryEnter(slot) !== undefined
    assert.deepEqual([enter('a.example'), enter('a.example')], [true, false])
    t.mock.timers.tick(1)
    assert.ok(enter('a.example'))
    t.mock.timers.tick(1)
    assert.ok(enter('a.example'))
    assert.equal(slots.readyAt('a.example'), Infinity)
    assert.ok(enter('b.example'))
    assert.equal(slots.readyAt('b.example'), Infinity)
    const waits = new Set<number>()
    for (let count = 0; count < 50; count++) {
      slots.tryEnter('c.example')?.end()
      const waitMs = slots.readyAt('c.example') - Date.now()
      assert.ok(waitMs >= 500 && waitMs <= 1_500, String(waitMs))
      waits.add(waitMs)
      t.mock.timers.tick(1_500)
    }
    assert.ok(waits.size > 1)
  })

  test('a name that can fit nothing is refused', () => {
    const wrong = [
      'https://example.com', 'example.com/a', 'a.*.example.com', '*example.com', '**', '*.', '*.*.com', 'example .com',
      ' example.com', 'user@example.com', 'example.com?', 'example.com:x', 'example.com:080', '::1', '*.127.0.0.1', '*.[::1]',
      '*.1', ':80', 'a%zz.com',
    ]
    for (const name of wrong) {
      assert.throws(() => delays({ [name]: 1 }), (error: { code: string; message: string }) => {
        assert.equal(error.code, 'settings')
        assert.ok(error.message.startsWith(`The setting hosts can't have the name "${name}"`), error.message)
        return true
      })
    }
    assert.throws(() => delays({ 'a.example': 1, 'A.example': 2 }), /hosts has the name "A.example" in two spellings/)
  })

  test('by domain, names are those of registrable domains', () => {
    const slots = delays({ 'example.co.uk': 2, '*.org.uk': 3, '*': 4, 'localhost:80': 5 }, 'domain')
    const hosts = ['example.co.uk', 'a.b.example.co.uk:8080', 'www.charity.org.uk', 'other.co.uk', 'localhost:80']
    assert.deepEqual(hosts.map((slot) => slots.delayOf(slot)), [2, 2, 3, 4, 5])
    for (const [name, domain] of [
      ['www.example.co.uk', 'example.co.uk'],
      ['example.co.uk:81', 'example.co.uk'],
      ['*.example.com', 'example.com'],
    ]) {
      assert.throws(() => delays({ [name as string]: 1 }, 'domain'), (error: { code: string; message: string }) => {
        assert.equal(error.code, 'settings')
        assert.ok(error.message.startsWith(`The setting hosts has the name "${name}"`), error.message)
        assert.ok(error.message.includes(`write "${domain}"`), error.message)
        return true
      })
    }
  })
})
