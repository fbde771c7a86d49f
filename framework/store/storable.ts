import type { Json } from '../json.ts'

/**
 * A text that every database takes: without NUL, which PostgreSQL refuses, without halves of characters, and cut to
 * `maxLength` characters.
 */
export function storableText(text: string, maxLength = 10_000): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
  return cut.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd')
}

/** The same for every text and key in JSON. What JSON can't express is left out, as `JSON.stringify` does. */
export function storableJson(value: object): object {
  const text = JSON.stringify(value)
  const parsed = JSON.parse(text) as object
  return /\\u(0000|d[89a-f])/i.test(text) ? (cleanJson(parsed as Json) as object) : parsed
}

function cleanJson(value: Json): Json {
  if (typeof value === 'string') return storableText(value, Infinity)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(cleanJson)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableText(key, Infinity), cleanJson(inner)]))
}
