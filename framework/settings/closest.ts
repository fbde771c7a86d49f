/** The name that was probably meant: the one with the fewest differing letters, if it is near enough. */
export function closest(name: string, names: readonly string[]): string | undefined {
  const wanted = name.toLowerCase()
  let best: { name: string; distance: number } | undefined
  for (const candidate of names) {
    const lower = candidate.toLowerCase()
    const distance = Math.min(editDistance(wanted, lower), lower.endsWith(`.${wanted}`) ? 1 : Infinity)
    if (distance <= Math.max(2, Math.floor(name.length / 3)) && distance < (best?.distance ?? Infinity)) best = { name: candidate, distance }
  }
  return best?.name
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
