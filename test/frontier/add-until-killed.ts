/** Adds requests and prints how many were acknowledged, until it is killed. */
import { Request } from 'orbweaver'
import { EmbeddedFrontier } from '../../framework/frontier/embedded.ts'
import { silentLog } from '../../framework/log.ts'

const path = process.argv[2] as string
const frontier = new EmbeddedFrontier({ path, fresh: false, fingerprint: (request) => request.fingerprint, log: silentLog, signal: new AbortController().signal, outageMs: 0 })
for (let n = 0; ; n += 100) {
  await frontier.add(Array.from({ length: 100 }, (_, index) => new Request(`http://a.example/${n + index}`)))
  process.stdout.write(`${n + 100}\n`)
}
