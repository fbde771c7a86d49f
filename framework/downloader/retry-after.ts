/**
 * Milliseconds for which an answer asks for patience, by its Retry-After (RFC 9110 §10.2.3): seconds, or a date, read by
 * the server's own clock where it says what that is. Undefined when it asks for none; never negative.
 */
export function retryAfterMs({ headers }: { readonly headers: Readonly<Record<string, string>> }): number | undefined {
  const value = headers['retry-after']?.trim()
  if (value === undefined || value === '') return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  const until = /^[a-z]/i.test(value) ? Date.parse(value) : NaN
  if (Number.isNaN(until)) return undefined
  const serverNow = Date.parse(headers['date'] ?? '')
  return Math.max(0, until - (Number.isNaN(serverNow) ? Date.now() : serverNow))
}
