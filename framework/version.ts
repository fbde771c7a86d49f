import { createRequire } from 'node:module'

/** Of the package, read from its package.json: from the sources and from `dist/` alike. */
export const { version } = createRequire(import.meta.url)('orbweaver/package.json') as { version: string }
