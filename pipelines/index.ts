import type { Pipeline } from 'orbweaver'
import { dedupe } from './dedupe.ts'
import { filter } from './filter.ts'
import { hash } from './hash.ts'
import { persist } from './persist.ts'
import { save } from './save.ts'

export { dedupe, filter, hash, persist, save }

/** What every image passes, outermost first; the last one commits its row. */
export const pipelines: readonly Pipeline[] = [filter, hash, dedupe, save, persist]
