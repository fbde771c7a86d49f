/** `text` in one line, without characters that would move a terminal's cursor, colour it, or turn the direction of writing. */
export function cleanText(text: string, maxLength = Infinity): string {
  const clean = text.replace(/[\s\u2028\u2029]+/g, ' ').replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}]/gu, '')
  return clean.length > maxLength ? `${clean.slice(0, maxLength - 1)}…` : clean
}
