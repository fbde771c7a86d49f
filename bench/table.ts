/** A plain table: the first column to the left, the others to the right, two spaces between. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>((found, row) => row.map((cell, column) => Math.max(found[column] ?? 0, cell.length)), [])
  const formatRow = (row: readonly string[]): string =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ')
  return rows.map((row) => formatRow(row).trimEnd()).join('\n')
}

/** With thousands separators and `digits` decimals. */
export function formatNumber(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export function formatMegabytes(bytes: number): string {
  return formatNumber(bytes / 2 ** 20)
}

/** The middle value, or the mean of the two middle ones. NaN when there is none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
