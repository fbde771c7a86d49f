import { createInterface } from 'node:readline/promises'
import { SettingsError } from '../errors.ts'
import type { FrontierInspection } from '../frontier/inspect.ts'
import { formatCounted, formatDate } from './format.ts'

/** What gives up a run, in words. */
export interface GivingUp {
  /** Begins a sentence: `Beginning anew`. */
  readonly deed: string
  /** `Begin anew?` */
  readonly question: string
  /** What else can be done, after "Add --yes to do so, or". */
  readonly instead: string
}

/**
 * Whether a run may be given up: there is none, it has ended, the user has said so, or says so when asked.
 * @throws SettingsError when he has not, and there is no terminal to ask at.
 */
export async function mayGiveUp(run: FrontierInspection | undefined, isAgreed: boolean, words: GivingUp): Promise<boolean> {
  const { deed, question, instead } = words
  if (run === undefined || run.endedAt !== undefined || isAgreed) return true
  const left = formatCounted(run.pending + run.delayed, 'request')
  const what = `The run of ${formatDate(run.begunAt)} has not ended: ${left} left.`
  const text = `${what} ${deed} gives up its queue; images that are kept stay known.`
  return isAgreedTo(text, question, `Add --yes to do so, or ${instead}`)
}

/**
 * Asks at the terminal.
 * @throws SettingsError with `text` and `otherwise` when there is none.
 */
export async function isAgreedTo(text: string, question: string, otherwise: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw new SettingsError(`${text} ${otherwise}`)
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await prompt.question(`${text}\n${question} [y/N] `)).trim())
  } finally {
    prompt.close()
  }
}
