import { messageOf } from '../errors.ts'
import { startSite } from './site.ts'

/** Told to the process that started this one. */
export type SiteMessage =
  | { readonly kind: 'listening'; readonly url: string; readonly hosts: readonly string[] }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'requests'; readonly id: number; readonly requests: Readonly<Record<string, number>> }

/** Asked by it: how often each URL was requested. */
export interface SiteQuestion {
  readonly id: number
}

if (process.send === undefined) throw new Error('This is the process of the demo site: `crawl demo` starts it.')
const tell = (message: SiteMessage) => process.send?.(message)

// Ctrl-C reaches every process of a terminal. When this one ends is up to the crawler, which needs it while it stops.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit())

try {
  const site = await startSite(JSON.parse(process.argv[2] ?? '') as { port: number; seed?: number })
  process.on('message', ({ id }: SiteQuestion) => tell({ kind: 'requests', id, requests: site.requests() }))
  tell({ kind: 'listening', url: site.url, hosts: site.hosts })
} catch (error) {
  tell({ kind: 'failed', message: messageOf(error) })
}
