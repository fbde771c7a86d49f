/** `text` with the passwords of URLs in it made unreadable. */
function maskPasswords(text: string): string {
  return text.replace(/(:\/\/[^\s:@/]*:)\S*@/g, '$1***@').replace(/([?&](?:password|sslpassword)=)[^&\s]*/gi, '$1***')
}

/** A value with all texts in it masked. */
export function maskValue(value: unknown): unknown {
  if (typeof value === 'string') return maskPasswords(value)
  if (Array.isArray(value)) return value.map(maskValue)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, maskValue(inner)]))
}
