import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crash } from './crash.ts'
import { crashOptions } from './options.ts'

test('killed with SIGKILL at random moments, a crawl ends with the rows, files and counters of one that was not', async () => {
  const options = crashOptions(30)
  const { kills } = await crash(options)
  const total = kills.start + kills.middle + kills.end
  assert.ok(total === options.kills && kills.start > 0 && kills.middle > 0, `${JSON.stringify(kills)}, CRASH_SEED=${options.seed}`)
})
