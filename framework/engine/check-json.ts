import { CrawlError, messageOf } from '../errors.ts'

/**
 * Requests and data are stored as JSON.
 * @param name of the value, at the beginning of a sentence.
 * @throws CrawlError `item` when it can't be written as JSON.
 */
export function checkJson(value: object, name: string): void {
  if (Object.keys(value).length === 0) return
  try {
    JSON.stringify(value)
  } catch (cause) {
    throw new CrawlError('item', `${name} can't be stored as JSON: ${messageOf(cause)}`, { reason: 'bad item', cause })
  }
}
