import { createHash } from 'node:crypto'
import type { Request } from '../http/request.ts'
import { canonicalizeUrl } from '../http/url.ts'

/**
 * SHA-1, as 40 hexadecimal digits, of what Scrapy 2.7 and later makes of the same request (`scrapy.utils.request.fingerprint`
 * without headers): JSON with sorted keys, as Python writes it.
 */
export function scrapyFingerprint(request: Pick<Request, 'url' | 'method' | 'body' | 'keepFragment'>): string {
  const { method, body, keepFragment } = request
  const bytes = (typeof body === 'string' ? Buffer.from(body) : Buffer.from(body ?? [])).toString('hex')
  const url = canonicalizeUrl(request.url, { keepFragments: keepFragment })
  const json = `{"body": "${bytes}", "headers": {}, "method": ${pythonJson(method)}, "url": ${pythonJson(url)}}`
  return createHash('sha1').update(json).digest('hex')
}

/** A string as Python's json.dumps writes it: ASCII alone. */
function pythonJson(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (unit) => (unit === '\u007f' ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`))
}
