/** Adds requests and prints how many were acknowledged, until it is killed. */
import { Request } from 'orbweaver'
import { open } from './open.ts'

const frontier = open(process.argv[2] as string)
for (let n = 0; ; n += 100) {
  const requests = Array.from({ length: 100 }, (_, index) => new Request(`http://a.example/${n + index}`))
  await frontier.add(requests.map((request) => ({ request, fingerprint: request.fingerprint })))
  process.stdout.write(`${n + 100}\n`)
}
