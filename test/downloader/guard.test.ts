import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { describe, test } from 'node:test'
import { createLookup, isForbiddenAddress } from '../../framework/downloader/guard.ts'
import { openCrawl } from '../middlewares/crawl.ts'
import { serve } from './server.ts'

const forbidden = `
  0.0.0.0 127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 100.100.100.200
  168.63.129.16 192.0.0.192 198.18.0.1 203.0.113.9 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
  :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe 64:ff9b::10.0.0.1 64:ff9b:1::1 2002:7f00:1:: 2002:c0a8:101::1
  fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 fec0::1 ff02::1 2001::1 2001:db8::1 nothing`
const open = `
  1.1.1.1 8.8.8.8 172.32.0.1 100.128.0.1 192.169.0.1
  ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1 2606:4700::1111`
const words = (text: string): string[] => text.trim().split(/\s+/)

describe('guard', () => {
  test('knows which addresses are no public hosts, however they are written', () => {
    assert.deepEqual(words(forbidden).filter((address) => !isForbiddenAddress(address)), [])
    assert.deepEqual(words(open).filter((address) => isForbiddenAddress(address)), [])
  })

  type Answer = { addresses: LookupAddress[] } | { error: NodeJS.ErrnoException }

  async function ask(lookup: ReturnType<typeof createLookup>, host: string): Promise<Answer> {
    return new Promise((resolve) => {
      lookup(host, { all: true }, (error, addresses) => {
        resolve(error === null ? { addresses: addresses as LookupAddress[] } : { error })
      })
    })
  }

  /** A resolver that answers one list after the other. */
  function resolver(...answers: (string[] | NodeJS.ErrnoException)[]) {
    const asked: string[] = []
    const resolve: NonNullable<Parameters<typeof createLookup>[0]['resolve']> = (host, _options, callback) => {
      asked.push(host)
      const answer = answers.shift() ?? []
      const addresses = Array.isArray(answer) ? answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })) : []
      setImmediate(() => callback(Array.isArray(answer) ? null : answer, addresses))
    }
    return { asked, resolve }
  }

  test('asks once for a host, and keeps to the address that was checked', async () => {
    const { asked, resolve } = resolver(['8.8.8.8'], ['127.0.0.1'])
    const lookup = createLookup({ allowPrivate: false, resolve })
    const answers = await Promise.all([ask(lookup, 'a.example'), ask(lookup, 'a.example')])
    answers.push(await ask(lookup, 'a.example'))
    for (const answer of answers) assert.deepEqual(answer, { addresses: [{ address: '8.8.8.8', family: 4 }] })
    assert.equal(answers.length, 3)
    assert.deepEqual(asked, ['a.example'])
  })

  test('leaves out what is private, and refuses a host that is nothing else', async () => {
    const { resolve } = resolver(['10.0.0.5', '8.8.8.8', '::1'], ['127.0.0.1', 'fd00::1'])
    const lookup = createLookup({ allowPrivate: false, resolve })
    assert.deepEqual(await ask(lookup, 'mixed.example'), { addresses: [{ address: '8.8.8.8', family: 4 }] })
    const answer = (await ask(lookup, 'inside.example')) as { error: Error & { reason: string; transient: boolean } }
    assert.equal(answer.error.reason, 'forbidden address')
    assert.equal(answer.error.transient, false)
    assert.match(answer.error.message, /inside\.example is at 127\.0\.0\.1.*network\.allowPrivate/)
  })

  test('asks again after a failure', async () => {
    const { resolve } = resolver(Object.assign(new Error('no answer'), { code: 'EAI_AGAIN' }), ['8.8.8.8'])
    const lookup = createLookup({ allowPrivate: false, resolve })
    assert.equal(((await ask(lookup, 'a.example')) as { error: NodeJS.ErrnoException }).error.code, 'EAI_AGAIN')
    assert.deepEqual(await ask(lookup, 'a.example'), { addresses: [{ address: '8.8.8.8', family: 4 }] })
  })

  test('opens no connection to a private address, by name or by number, in any spelling', async () => {
    const server = await serve((_, response) => response.end())
    const crawl = await openCrawl({ settings: { network: { allowPrivate: false } } })
    const port = new URL(server.url).port
    try {
      for (const host of words('127.0.0.1 localhost 2130706433 0x7f.1 0177.0.0.1 [::ffff:127.0.0.1] 0.0.0.0 ①②⑦.0.0.1')) {
        const refused = { code: 'download', reason: 'forbidden address', transient: false }
        await assert.rejects(crawl.fetch(`http://${host}:${port}/`), refused, host)
      }
      assert.equal(server.connections(), 0)
    } finally {
      await crawl.close()
      await server.close()
    }
  })
})
