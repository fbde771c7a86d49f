import { SettingsError } from '../errors.ts'

/**
 * `name=value` texts as an object; a later one wins.
 * @throws SettingsError when one has no `=`.
 */
export function parseAssignments(option: string, texts: readonly string[] = []): Record<string, string> {
  const values: Record<string, string> = {}
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 1) throw new SettingsError(`${option} needs name=value, not "${text}".`)
    values[text.slice(0, at).trim()] = text.slice(at + 1)
  }
  return values
}

/**
 * A whole number from 1, given as text.
 * @throws SettingsError when it is none.
 */
export function parseCount(option: string, text: string, max = Number.MAX_SAFE_INTEGER): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0
  if (count < 1 || count > max) throw new SettingsError(`${option} needs a whole number from 1${max < Number.MAX_SAFE_INTEGER ? ` to ${max}` : ''}, not "${text}".`)
  return count
}
