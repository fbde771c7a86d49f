/** Run as a process of its own: saves images into the database of the first argument, named by the second, and says how it went. */
import { silentLog } from '../../framework/log.ts'
import { openStore } from '../../framework/store/open.ts'
import { fetched, itemOf } from './items.ts'

const [database = '', site = ''] = process.argv.slice(2)
let warnings = 0
const log = { ...silentLog, warn: () => void warnings++ }
const { signal } = new AbortController()
const store = await openStore({ database, dataDir: '', hash: 'pHash', log, signal, outageMs: 10_000 })
const ends = await Promise.allSettled(
  Array.from({ length: 300 }, async (_, index) => {
    const item = itemOf(`${site}-${index}`)
    const known = (await store.found([item], site)).get(item.url)
    return known === undefined ? Promise.reject(new Error('no row')) : store.save(fetched(item, known))
  }),
)
await store.close()
process.send?.({ failed: ends.filter(({ status }) => status === 'rejected').length, warnings })
