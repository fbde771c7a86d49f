import { stripVTControlCharacters } from 'node:util'

/** Rows with their cells one below the other, two spaces apart. Columns in `right` have their ends below each other. */
export function alignColumns(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const widths: number[] = []
  for (const row of rows) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, widthOf(cell))))
  return rows.map((row) => row.map((cell, index) => {
    const space = ' '.repeat((widths[index] ?? 0) - widthOf(cell))
    return right.includes(index) ? space + cell : cell + space
  }).join('  ').trimEnd())
}

/** `words` in lines of at most `width` characters. */
export function wrapWords(words: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || widthOf(last) + 1 + widthOf(word) > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

/** Of a text on a terminal, without what colours it. */
export const widthOf = (cell: string): number => stripVTControlCharacters(cell).length
