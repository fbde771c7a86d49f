import { CrawlError } from '../errors.ts'

const maxSegmentBytes = 200
const maxKeyBytes = 1_000
/** What Windows, macOS or Linux forbid in names, and characters that turn the direction of what follows. */
const forbidden = /[\p{Cc}\p{Bidi_Control}<>:"|?*\\]/u
/** Devices on Windows, with any extension (Win32 naming conventions). */
const device = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i

/**
 * Refuses keys that could lead out of the folder, or that some file system can't hold: a folder of images should be
 * copyable to any disk.
 * @throws CrawlError that names the key and what is wrong with it.
 */
export function checkKey(key: string): void {
  const tooLong = Buffer.byteLength(key) > maxKeyBytes ? `is longer than ${maxKeyBytes} bytes` : undefined
  const problem = tooLong ?? key.split('/').map(problemOf).find((found) => found !== undefined)
  if (problem === undefined) return
  throw new CrawlError('key', `The file name ${JSON.stringify(key)} can't be used: it ${problem}.`, { reason: 'bad file name' })
}

function problemOf(segment: string): string | undefined {
  if (segment === '') return 'is empty, absolute, or has an empty part'
  if (segment.startsWith('.')) return 'has a part that begins with a dot'
  if (/[. ]$/.test(segment) || segment.startsWith(' ')) return 'has a part that ends with a dot, or begins or ends with a blank'
  if (forbidden.test(segment)) return 'has a character that not every file system allows'
  if (device.test(segment)) return 'has a part that is a device on Windows'
  if (Buffer.byteLength(segment) > maxSegmentBytes) return `has a part longer than ${maxSegmentBytes} bytes`
  return undefined
}
