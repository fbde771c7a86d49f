import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isCrawlError } from '../../framework/errors.ts'
import type { Item } from '../../framework/item.ts'
import { isStored } from '../../framework/item.ts'
import type { KnownImage, Store } from '../../framework/store/store.ts'
import { fetched, hashesOf, itemOf } from './items.ts'

type Row = Record<string, unknown>

/** A database, empty at first, that a store can be opened on more than once. */
export interface StoreDatabase {
  open(): Promise<Store>
  /** The rows of an SQL query, as the driver gives them. */
  query(sql: string): Promise<Row[]>
  remove(): Promise<void>
}

/** What every store must do, whatever holds its rows. */
export function testStore(backend: string, create: () => Promise<StoreDatabase>, skip: string | false = false): void {
  describe(`store on ${backend}`, { skip }, () => {
    let database: StoreDatabase
    let store: Store

    before(async () => {
      database = await create()
      store = await database.open()
    })
    after(async () => {
      await store.close()
      await database.remove()
    })

    const reopen = async (): Promise<void> => {
      await store.close()
      store = await database.open()
    }
    const find = async (item: Item, site = 'gallery'): Promise<KnownImage> => {
      const known = (await store.found([item], site)).get(item.url)
      assert.ok(known)
      return known
    }
    const rowOf = async ({ id }: KnownImage): Promise<Row> => {
      const [row] = await database.query(`select * from image where id = ${id}`)
      assert.ok(row)
      return row
    }

    test('an image is remembered from when it was found first, and by whom', async () => {
      const item = itemOf('first', { alt: 'A lake', data: { album: 'Lakes', place: { x: 1 } } })
      const first = await find(item, 'gallery')
      const again = await find({ ...item, pageUrl: 'https://site.test/other' }, 'another')
      assert.deepEqual(again, first)
      assert.equal(first.site, 'gallery')
      assert.equal(first.settled, false)
      const row = await rowOf(first)
      assert.equal(row['page_url'], 'https://site.test/page')
      assert.equal(row['alt_text'], 'A lake')
      assert.equal(row['status'], 'pending')
      assert.deepEqual(typeof row['data'] === 'string' ? JSON.parse(row['data']) : row['data'], { album: 'Lakes', place: { x: 1 } })
      await reopen()
      assert.deepEqual((await store.known([item.url])).get(item.url), first)
    })

    test('many pages that name the same images at once make one row each', async () => {
      const items = Array.from({ length: 600 }, (_, index) => itemOf(`crowd-${index}`))
      const answers = await Promise.all([store.found(items, 'a'), store.found(items, 'a'), store.found(items.slice(100, 300), 'b')])
      const ids = new Set(answers.flatMap((known) => [...known.values()].map(({ id }) => id)))
      assert.equal(ids.size, 600)
      assert.equal((await store.known(items.map(({ url }) => url))).size, 600)
    })

    test('an URL that was never found is not known', async () => {
      assert.equal((await store.known(['https://site.test/never.jpg'])).size, 0)
    })

    test('a kept image is settled, and found by its bytes and by its picture', async () => {
      const item = itemOf('kept')
      const known = await find(item)
      const stored = await store.save(fetched(item, known, { hashes: hashesOf('00000000000000ff') }))
      assert.ok(isStored(stored))
      assert.deepEqual({ id: stored.id, status: stored.status }, { id: known.id, status: 'downloaded' })
      assert.equal((await store.known([item.url])).get(item.url)?.settled, true)
      const kept = { id: known.id, width: 800, height: 600, size: 1000, frames: 1, key: `2026-01-01/${known.id}.jpg` }
      assert.deepEqual(await store.sameBytes(fetched(item, known).image.sha256), { ...kept, distance: 0 })
      assert.deepEqual(await store.similar('00000000000000fc', 5), { ...kept, distance: 2 })
      assert.equal(await store.similar('0000000000000000', 7), undefined)
      await reopen()
      assert.deepEqual(await store.similar('00000000000000fc', 5), { ...kept, distance: 2 })
    })

    test('what pipelines have added to the data is stored', async () => {
      const item = itemOf('enriched', { data: { album: 'Lakes' } })
      const known = await find(item)
      await store.save(fetched({ ...item, data: { album: 'Lakes', color: 'blue' } }, known))
      const { data } = await rowOf(known)
      assert.deepEqual(typeof data === 'string' ? JSON.parse(data) : data, { album: 'Lakes', color: 'blue' })
    })

    test('saving twice changes nothing, also when the second comes with another file', async () => {
      const item = itemOf('twice')
      const known = await find(item)
      await store.save(fetched(item, known))
      const row = await rowOf(known)
      const again = await store.save(fetched(item, known, { attempt: 2, key: 'elsewhere.jpg' }))
      assert.equal(again.status, 'downloaded')
      assert.deepEqual(await rowOf(known), row)
    })

    test('a flat picture is never similar to another', async () => {
      const item = itemOf('flat')
      await store.save(fetched(item, await find(item), { hashes: hashesOf('aaaa5555aaaa5555', true) }))
      assert.equal(await store.similar('aaaa5555aaaa5555', 0), undefined)
      await reopen()
      assert.equal(await store.similar('aaaa5555aaaa5555', 0), undefined)
    })

    test('a duplicate points to the original, has no file and is not compared with', async () => {
      const [original, exact, near] = [itemOf('original'), itemOf('exact'), itemOf('near')]
      const [first, second, third] = [await find(original), await find(exact), await find(near)]
      await store.save(fetched(original, first, { bytes: 'same', hashes: hashesOf('0f0f0f0f00000000') }))
      const exactly = { id: first.id, distance: 0, exact: true }
      const nearly = { id: first.id, distance: 3, exact: false }
      const duplicate = await store.save(fetched(exact, second, { bytes: 'same', duplicateOf: exactly }))
      await store.save(fetched(near, third, { hashes: hashesOf('0f0f0f0f00000007'), duplicateOf: nearly }))
      assert.equal(duplicate.status, 'duplicate')
      const rows = [await rowOf(second), await rowOf(third)]
      assert.deepEqual(rows.map((row) => [row['status'], Number(row['duplicate_of']), row['distance'], row['reason'], row['path']]), [
        ['duplicate', first.id, 0, 'exact', null],
        ['duplicate', first.id, 3, 'near', null],
      ])
      assert.equal((await store.similar('0f0f0f0f00000007', 5))?.id, first.id)
      assert.equal((await store.sameBytes(fetched(original, first, { bytes: 'same' }).image.sha256))?.id, first.id)
    })

    test('a larger picture takes the place of the kept one and of what pointed to it, and the old file is not forgotten', async () => {
      const names = ['small', 'copy', 'alike', 'large'].map((name) => itemOf(name, { data: { album: name } }))
      const [small, copy, alike, large] = await Promise.all(names.map((item) => find(item)))
      assert.ok(small && copy && alike && large && names[0] && names[1] && names[2] && names[3])
      await store.save(fetched(names[0], small, { hashes: hashesOf('3333000033330000') }))
      await store.save(fetched(names[1], copy, { duplicateOf: { id: small.id, distance: 1, exact: false } }))
      await store.save(fetched(names[2], alike, { hashes: hashesOf('33330000333300ff'), review: { id: small.id, distance: 8 } }))
      const replaces = { id: small.id, distance: 1, key: `2026-01-01/${small.id}.jpg` }
      const stored = await store.save(fetched(names[3], large, { hashes: hashesOf('3333000033330001'), replaces }))
      assert.equal(stored.status, 'downloaded')
      const rows = await Promise.all([small, copy, alike, large].map(rowOf))
      assert.deepEqual(rows.map((row) => [row['status'], row['duplicate_of'] ?? row['review_of']].map(String)), [
        ['duplicate', String(large.id)],
        ['duplicate', String(large.id)],
        ['downloaded', String(large.id)],
        ['downloaded', 'null'],
      ])
      assert.deepEqual(rows.map(({ data }) => (typeof data === 'string' ? JSON.parse(data) : data)), names.map(({ data }) => data))
      assert.equal((await store.similar('3333000033330000', 2))?.id, large.id)
      await reopen()
      assert.equal((await store.similar('3333000033330000', 2))?.id, large.id)
      assert.deepEqual(await store.abandoned(), [{ id: small.id, key: `2026-01-01/${small.id}.jpg` }])
      await store.forgetFile(small.id)
      assert.deepEqual(await store.abandoned(), [])
    })

    test('a copy of a picture that has been replaced in the meantime points to the one in its place', async () => {
      const names = ['was', 'late-copy', 'is'].map((name) => itemOf(name))
      const [was, lateCopy, is] = await Promise.all(names.map((item) => find(item)))
      assert.ok(was && lateCopy && is && names[0] && names[1] && names[2])
      await store.save(fetched(names[0], was))
      await store.save(fetched(names[2], is, { replaces: { id: was.id, distance: 1, key: null } }))
      await store.save(fetched(names[1], lateCopy, { duplicateOf: { id: was.id, distance: 1, exact: false } }))
      assert.equal(Number((await rowOf(lateCopy))['duplicate_of']), is.id)
      await store.forgetFile(was.id)
    })

    test('the file of a kept image is never forgotten', async () => {
      const item = itemOf('unforgotten')
      const known = await find(item)
      await store.save(fetched(item, known))
      await store.forgetFile(known.id)
      assert.equal((await rowOf(known))['path'], `2026-01-01/${known.id}.jpg`)
    })

    test('what was refused is remembered with its reason, and downloaded again only when it may pass', async () => {
      const [dropped, failed] = [itemOf('dropped'), itemOf('failed')]
      const known = await Promise.all([find(dropped), find(failed)])
      await Promise.all([
        store.refuse({ url: dropped.url, status: 'dropped', reason: 'too small', message: '20 × 20', attempts: 1, settled: true }),
        store.refuse({ url: failed.url, status: 'failed', reason: 'http 503', message: 'status 503', attempts: 4, settled: false }),
      ])
      const remembered = await store.known([dropped.url, failed.url])
      assert.equal(remembered.get(dropped.url)?.settled, true)
      assert.equal(remembered.get(failed.url)?.settled, false)
      const row = await rowOf(known[1])
      assert.deepEqual([row['status'], row['reason'], row['message'], row['attempts']], ['failed', 'http 503', 'status 503', 4])
      await store.save(fetched(failed, known[1], { attempt: 5 }))
      const { status, reason, message } = await rowOf(known[1])
      assert.deepEqual([status, reason, message], ['downloaded', null, null])
    })

    test('an image that is kept is not refused afterwards', async () => {
      const item = itemOf('safe')
      const known = await find(item)
      await store.save(fetched(item, known))
      const message = 'a pipeline threw after the commit'
      await store.refuse({ url: item.url, status: 'failed', reason: 'error', message, attempts: 1, settled: false })
      assert.equal((await rowOf(known))['status'], 'downloaded')
    })

    test('texts of hostile pages are stored as they are, but for what no database takes', async () => {
      const nasty = `'"\`\\ ? ?? $1 :name %s [raw]: 1 (#1) \u0001 \u{1f600} ' or 1=1; drop table image; --`
      const harmless = { $ne: nasty, '[raw]: 1 (#1)': [nasty, null], back: '\\u0000' }
      const data = { ...harmless, inner: { 'a\0b': 'c\0d', 'e\ud800': 'f\udc00g' } }
      const url = `nasty?a=${encodeURIComponent(nasty)}`
      const item = itemOf(url, { alt: `${nasty}\0\ud800end`, data, pageUrl: `https://site.test/?q='%5C` })
      const known = await find(item)
      await store.save(fetched(item, known))
      await store.refuse({ url: item.url, status: 'dropped', reason: nasty, message: `\0${nasty}`, attempts: 1, settled: true })
      const row = await rowOf(known)
      assert.equal(row['url'], item.url)
      assert.equal(row['alt_text'], `${nasty}\ufffdend`)
      const stored: unknown = typeof row['data'] === 'string' ? JSON.parse(row['data']) : row['data']
      assert.deepEqual(stored, { ...harmless, inner: { ab: 'cd', 'e\ufffd': 'f\ufffdg' } })
    })

    test('URLs too long for an index are told apart', async () => {
      const long = 'x'.repeat(20_000)
      const [one, two] = [itemOf(`${long}1`), itemOf(`${long}2`)]
      const known = await store.found([one, two], 'gallery')
      assert.notEqual(known.get(one.url)?.id, known.get(two.url)?.id)
      assert.equal((await store.known([two.url])).get(two.url)?.id, known.get(two.url)?.id)
    })

    test('an item whose row is gone fails alone, and those that came with it are kept', async () => {
      const items = Array.from({ length: 10 }, (_, index) => itemOf(`batch-${index}`))
      const known = await store.found(items, 'gallery')
      const saves = items.map((item, index) => {
        const own = known.get(item.url)
        assert.ok(own)
        return store.save(fetched(item, index === 4 ? { ...own, id: 999_999_999 } : own))
      })
      const ends = await Promise.allSettled(saves)
      assert.deepEqual(ends.map(({ status }) => status), items.map((_, index) => (index === 4 ? 'rejected' : 'fulfilled')))
      const failure = ends[4]
      assert.ok(failure?.status === 'rejected' && isCrawlError(failure.reason, 'row') && failure.reason.message.includes('batch-4'))
    })

    test('an item without a file is not kept', async () => {
      const item = itemOf('fileless')
      const { key: _, ...rest } = fetched(item, await find(item))
      await assert.rejects(store.save(rest), (error: Error) => isCrawlError(error, 'row') && error.message.includes('save'))
      assert.equal((await store.known([item.url])).get(item.url)?.settled, false)
    })

    test('data that is no JSON is refused with the URL', async () => {
      const circular: Record<string, unknown> = {}
      circular['self'] = circular
      const item = itemOf('circular', { data: circular as never })
      const isRefused = (error: Error) => isCrawlError(error, 'row') && error.message.includes(item.url)
      await assert.rejects(store.found([item], 'gallery'), isRefused)
    })

    test('images are counted by status and reason, for one site or all', async () => {
      const items = [itemOf('count-1'), itemOf('count-2'), itemOf('count-3')]
      const known = await store.found(items, 'counted')
      const [first, second] = items.map((item) => known.get(item.url))
      assert.ok(first && second && items[0] && items[1])
      await store.save(fetched(items[0], first))
      await store.save(fetched(items[1], second, { duplicateOf: { id: first.id, distance: 0, exact: true } }))
      assert.deepEqual(await store.counts('counted'), [
        { status: 'downloaded', reason: '', count: 1, bytes: 1000 },
        { status: 'duplicate', reason: 'exact', count: 1, bytes: 1000 },
        { status: 'pending', reason: '', count: 1, bytes: 0 },
      ])
      const all = (await store.counts()).reduce((sum, { count }) => sum + count, 0)
      assert.equal(all, Number((await database.query('select count(*) as count from image'))[0]?.['count']))
    })
  })
}
