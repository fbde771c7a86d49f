import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { isCrawlError } from '../../framework/errors.ts'
import { explain } from '../../framework/files/failure.ts'
import type { Files } from '../../framework/files/files.ts'
import { openFiles } from '../../framework/files/open.ts'
import { renameExclusively } from '../../framework/files/rename-exclusively.ts'

const root = mkdtempSync(join(tmpdir(), 'orbweaver-files-'))
after(() => rmSync(root, { recursive: true }))
const { signal } = new AbortController()

let count = 0
async function withFiles(body: (files: Files, folder: string) => Promise<void>): Promise<void> {
  const folder = join(root, String(++count), 'images')
  const files = await openFiles({ files: folder, dataDir: '' })
  try {
    await body(files, folder)
  } finally {
    await files.close()
  }
}

function temporary(files: Files, text: string): string {
  const path = files.temporaryPath()
  writeFileSync(path, text)
  return path
}

function listing(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => !name.startsWith('.tmp')).sort()
}

describe('files in a folder', () => {
  test('are there whole under their key, and gone from where they were', () =>
    withFiles(async (files, folder) => {
      const path = temporary(files, 'bytes')
      await files.put(path, '2026-01-01/a_1.jpg', signal)
      assert.equal(readFileSync(join(folder, '2026-01-01', 'a_1.jpg'), 'utf8'), 'bytes')
      assert.equal(existsSync(path), false)
      assert.equal(await files.has('2026-01-01/a_1.jpg'), true)
      assert.equal(files.locate('2026-01-01/a_1.jpg'), join(folder, '2026-01-01', 'a_1.jpg'))
      assert.equal(files.locate(''), folder)
      await files.delete('2026-01-01/a_1.jpg')
      await files.delete('2026-01-01/a_1.jpg')
      assert.equal(await files.has('2026-01-01/a_1.jpg'), false)
    }))

  test('may be put again with the same bytes, as after a crash', () =>
    withFiles(async (files, folder) => {
      await files.put(temporary(files, 'bytes'), 'a/b.jpg', signal)
      const again = temporary(files, 'bytes')
      await files.put(again, 'a/b.jpg', signal)
      assert.equal(existsSync(again), false)
      assert.deepEqual(listing(folder), ['a', 'a/b.jpg'])
    }))

  test('are never overwritten with other bytes, also of the same length', () =>
    withFiles(async (files, folder) => {
      await files.put(temporary(files, 'one'), 'a.jpg', signal)
      const message = `There is another file at ${join(folder, 'a.jpg')}.`
      for (const text of ['two', 'longer']) {
        const other = temporary(files, text)
        const isRefused = (error: Error) => isCrawlError(error, 'storage') && error.message.startsWith(message)
        await assert.rejects(files.put(other, 'a.jpg', signal), isRefused)
        assert.equal(readFileSync(other, 'utf8'), text)
      }
      assert.equal(readFileSync(join(folder, 'a.jpg'), 'utf8'), 'one')
    }))

  test('of which many come at once for one key are one file', () =>
    withFiles(async (files, folder) => {
      await Promise.all(Array.from({ length: 30 }, () => files.put(temporary(files, 'same'), 'day/same.jpg', signal)))
      const paths = Array.from({ length: 10 }, (_, index) => temporary(files, `other ${index}`))
      const ends = await Promise.allSettled(paths.map((path) => files.put(path, 'day/other.jpg', signal)))
      assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.deepEqual(listing(folder), ['day', 'day/other.jpg', 'day/same.jpg'])
    }))

  test('come back into a folder that was removed meanwhile', () =>
    withFiles(async (files, folder) => {
      await files.put(temporary(files, 'one'), 'day/one.jpg', signal)
      rmSync(join(folder, 'day'), { recursive: true })
      await files.put(temporary(files, 'two'), 'day/two.jpg', signal)
      assert.deepEqual(listing(folder), ['day', 'day/two.jpg'])
    }))

  const otherVolume = '/dev/shm'
  const isOther = existsSync(otherVolume) && statSync(otherVolume).dev !== statSync(root).dev
  test('may come from another volume', { skip: isOther ? false : `no other volume at ${otherVolume}` }, () =>
    withFiles(async (files, folder) => {
      const other = mkdtempSync(join(otherVolume, 'orbweaver-'))
      writeFileSync(join(other, 'x'), 'bytes')
      await files.put(join(other, 'x'), 'x.jpg', signal)
      assert.equal(readFileSync(join(folder, 'x.jpg'), 'utf8'), 'bytes')
      assert.deepEqual(readdirSync(other), [])
      rmSync(other, { recursive: true })
    }))

  test('are not begun once the crawl has ended', () =>
    withFiles(async (files, folder) => {
      const reason = new Error('the crawl is ending')
      await assert.rejects(files.put(temporary(files, 'x'), 'x.jpg', AbortSignal.abort(reason)), reason)
      assert.deepEqual(listing(folder), [])
    }))

  const elsewhere = ['', '/etc/x.jpg', '../x.jpg', 'a/../x.jpg', 'a//b.jpg', 'a/./b.jpg', 'a/', 'a\\b.jpg', '.tmp/x']
  const notEverywhere = ['a\0b.jpg', 'a\nb.jpg', 'C:x.jpg', 'a?.jpg', 'CON', 'nul.jpg', 'a/COM1.png', 'lpt9']
  const deceptive = ['.htaccess', '\u202egpj.exe', 'trail.', 'trail ', ' lead']
  const long = ['x'.repeat(201), 'é'.repeat(101), Array.from({ length: 6 }, () => 'x'.repeat(190)).join('/')]
  for (const key of [...elsewhere, ...notEverywhere, ...deceptive, ...long]) {
    test(`are not put under ${JSON.stringify(key.slice(0, 20))}`, () =>
      withFiles(async (files, folder) => {
        const before = readdirSync(join(folder, '..'), { recursive: true })
        const path = files.temporaryPath()
        for (const use of [files.put(path, key, signal), files.has(key), files.delete(key)]) {
          await assert.rejects(use, (error: Error) => isCrawlError(error, 'key') && error.reason === 'bad file name')
        }
        assert.deepEqual(readdirSync(join(folder, '..'), { recursive: true }), before)
      }))
  }

  test('unfinished ones of processes that died are removed, those of the living are left', async () => {
    const folder = join(root, 'shared')
    const living = await openFiles({ files: folder, dataDir: '' })
    const inProgress = temporary(living, 'half')
    const host = hostname().toLowerCase().replace(/[^a-z0-9]+/g, '_').slice(0, 60)
    const died = [`${host}-999999999-00000000`, `${host}-${process.pid}-00000000`]
    const foreign = 'another_machine-1-00000000'
    for (const name of [...died, foreign]) {
      mkdirSync(join(folder, '.tmp', name))
      writeFileSync(join(folder, '.tmp', name, '1'), 'half')
    }
    const second = await openFiles({ files: folder, dataDir: '' })
    const left = readdirSync(join(folder, '.tmp'))
    for (const name of died) assert.ok(!left.includes(name))
    assert.ok(left.includes(foreign))
    assert.equal(readFileSync(inProgress, 'utf8'), 'half')
    await Promise.all([living.close(), second.close()])
    assert.deepEqual(readdirSync(join(folder, '.tmp')), [foreign])
  })

  test('are in the data folder unless set', async () => {
    const files = await openFiles({ files: '', dataDir: join(root, 'data') })
    assert.equal(files.locate(''), join(root, 'data', 'images'))
    await files.close()
  })

  test('need a folder that can be made, or the setting is named', async () => {
    writeFileSync(join(root, 'file'), '')
    for (const folder of [join(root, 'file'), join(root, 'file', 'images')]) {
      await assert.rejects(openFiles({ files: folder, dataDir: '' }), (error: Error) => {
        assert.ok(isCrawlError(error, 'storage'))
        return error.message.includes(folder) && error.message.includes('set files')
      })
    }
  })

  test('need room: a full disk is named', { skip: existsSync('/dev/full') ? false : 'no /dev/full' }, async () => {
    const error = await writeFile('/dev/full', 'x').catch((reason: unknown) => explain(reason, '/data/images'))
    assert.ok(isCrawlError(error, 'storage'))
    assert.equal(error.reason, 'disk is full')
    assert.match(error.message, /\/data\/images.*Free some space/)
  })
})

test('renameExclusively takes a free name, or one that a crash has left empty, and no other', async () => {
  const [source, target] = [join(root, 'source'), join(root, 'target')]
  writeFileSync(source, 'one')
  assert.equal(await renameExclusively(source, target), true)
  assert.equal(readFileSync(target, 'utf8'), 'one')
  writeFileSync(source, 'two')
  assert.equal(await renameExclusively(source, target), false)
  assert.deepEqual([readFileSync(source, 'utf8'), readFileSync(target, 'utf8')], ['two', 'one'])
  writeFileSync(target, '')
  assert.equal(await renameExclusively(source, target), true)
  assert.equal(readFileSync(target, 'utf8'), 'two')
})
