/** Imports every test, so that they share one process: on Node 20 each file would start one, and tsx in it. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname
const only = process.env['TEST_ONLY'] ?? ''
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
  if (name.endsWith('.test.ts') && name !== 'all.test.ts' && name.includes(only)) await import(join(folder, name))
}
