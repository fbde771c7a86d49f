import type { CrashOptions } from './crash.ts'

/**
 * What the variables `CRASH_KILLS` and `CRASH_SEED` say; without one the seed is another one each time.
 * @throws Error when one of them is no whole number from 1.
 */
export function crashOptions(kills: number): Omit<CrashOptions, 'say'> {
  return { kills: readNumber('CRASH_KILLS', kills), seed: readNumber('CRASH_SEED', 1 + Math.floor(Math.random() * 2 ** 31)) }
}

function readNumber(name: string, otherwise: number): number {
  const text = process.env[name]
  const number = text === undefined || text === '' ? otherwise : Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`${name}: "${text}" is no whole number from 1`)
  return number
}
