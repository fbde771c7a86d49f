import { parseArgs } from 'node:util'
import { scenarioNames, type ScenarioName } from './scenarios.ts'

/** What a run of the bench measures, from the command line. */
export interface Options {
  readonly pages: number
  readonly images: number
  /** Requests in progress at once and connections to the site, the same for every contender. */
  readonly concurrency: number
  /** Runs of each contender; the report shows medians. */
  readonly repeat: number
  readonly scenarios: readonly ScenarioName[]
  readonly json: boolean
  /** The contender whose profile is printed, or undefined for none. */
  readonly profile: 'product' | 'bare' | undefined
}

export const usage = `npm run bench -- [options]

  --pages N          pages of the site (2,000)
  --images N         distinct images of the site (500)
  --full             10,000 pages and 2,000 images
  --only SCENARIO    ${scenarioNames.join(', ')}; may be given several times (all)
  --concurrency N    requests in progress at once (32)
  --repeat N         runs of each contender, interleaved; medians are shown (1)
  --profile          the product's functions, files and packages by CPU time, 20 each
  --profile-bare     the same of the bare loops
  --json             one JSON document instead of tables
`

/** Reads the command line. Throws with the name of the option that is wrong. */
export function parseOptions(argv: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      pages: { type: 'string' },
      images: { type: 'string' },
      concurrency: { type: 'string' },
      repeat: { type: 'string' },
      only: { type: 'string', multiple: true },
      full: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      'profile-bare': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return 'help'
  if (values.profile && values['profile-bare']) throw new Error('--profile and --profile-bare: one of them at a time')
  return {
    pages: parseCount('--pages', values.pages, values.full ? 10_000 : 2_000),
    images: parseCount('--images', values.images, values.full ? 2_000 : 500),
    concurrency: parseCount('--concurrency', values.concurrency, 32),
    repeat: parseCount('--repeat', values.repeat, 1),
    scenarios: values.only?.map(parseScenario) ?? scenarioNames,
    json: values.json,
    profile: values.profile ? 'product' : values['profile-bare'] ? 'bare' : undefined,
  }
}

/** A whole number from 1, with or without thousands separators. Throws with `option` in the message. */
export function parseCount(option: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  const count = Number(text.replaceAll(/[,_]/g, ''))
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`${option}: "${text}" is not a whole number from 1`)
  return count
}

function parseScenario(text: string): ScenarioName {
  const name = scenarioNames.find((candidate) => candidate === text)
  if (name === undefined) throw new Error(`--only: there is no scenario "${text}"; there are ${scenarioNames.join(', ')}`)
  return name
}
