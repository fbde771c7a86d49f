/** `npm run bench:frontier`: what the frontier of a large crawl costs, beside what is promised of it. */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runChild } from './child.ts'
import type { FrontierInput, FrontierReport, Rate } from './frontier-load.ts'
import { parseCount } from './options.ts'
import { withScratch } from './scratch.ts'
import { formatMegabytes, formatNumber, formatTable } from './table.ts'

const usage = `npm run bench:frontier -- [options]

  --requests N   requests that are queued (1,000,000)
  --hosts N      hosts that they are spread over (10,000)
  --kind KIND    dupe filter: memory, disk, bloom, lossy-hyperloglog (memory)
`

const { values } = parseArgs({
  options: {
    requests: { type: 'string' },
    hosts: { type: 'string' },
    kind: { type: 'string', default: 'memory' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) console.log(usage)
else {
  await withScratch(async (folder, signal) => {
    const input: FrontierInput = {
      path: join(folder, 'frontier.db'),
      requests: parseCount('--requests', values.requests, 1_000_000),
      hosts: parseCount('--hosts', values.hosts, 10_000),
      kind: values.kind as FrontierInput['kind'],
    }
    console.error(`${formatNumber(input.requests)} requests over ${formatNumber(input.hosts)} hosts, dupe filter ${input.kind}: a minute or two`)
    const report = await runChild<FrontierReport>('frontier-load.ts', input, signal)
    console.log(render(report, input))
  })
}

function render(report: FrontierReport, { requests }: FrontierInput): string {
  const row = (name: string, { perSecond, cpuUs }: Rate, promised: string): string[] => [name, `${formatNumber(perSecond)}/s`, formatNumber(cpuUs, 1), promised]
  return formatTable([
    ['', 'measured', 'CPU us each', 'promised'],
    row('new requests added, 8 times 100 at once', report.added, '>= 15,000/s'),
    row('known ones answered: canonical URL, fingerprint, look-up', report.known, ''),
    row('known ones answered, the look-up alone', report.lookedUp, '>= 1,000,000/s'),
    row('leased and settled, 256 at once', report.settled, '>= 10,000/s'),
    row('leased and settled with 20 known children each', report.settledWithChildren, ''),
    ['opened again', `${formatNumber(report.reopenMs)} ms`, '', ''],
    [`memory with ${formatNumber(requests)} queued, opened again (RSS)`, `${formatMegabytes(report.rssBytes)} MB`, '', '< 250 MB'],
    ['of that, before the frontier was opened', `${formatMegabytes(report.bareRssBytes)} MB`, '', ''],
    ['file', `${formatNumber(report.fileBytes / requests)} B a request`, '', ''],
  ])
}
