import { z } from 'zod'

const msPerUnit: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const bytesPerUnit: Readonly<Record<string, number>> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 }

/** Timers hold 2^31-1 ms, 24.8 days; of more they make 1 ms. */
const maxDurationMs = 24 * 86_400_000

/** Milliseconds: a number, or a text such as `250ms`, `30s`, `5m`, `2h`, `1d`. At most 24 days, unless no timer waits for it. */
export function duration(min: number, max = maxDurationMs) {
  const milliseconds = z.number({ error: 'must be milliseconds or a text such as 30s, 5m or 2h' }).min(min)
  return z.preprocess((value) => parseUnit(value, msPerUnit), milliseconds.max(max, { error: `must be at most ${max / 86_400_000} days` }))
}

/** Bytes: a number, or a text such as `500kB`, `5MB`, `1GiB`. */
export function byteSize(min: number) {
  return z.preprocess((value) => parseUnit(value, bytesPerUnit), z.number({ error: 'must be bytes or a text such as 500kB or 5MB' }).min(min))
}

function parseUnit(value: unknown, units: Readonly<Record<string, number>>): unknown {
  if (typeof value !== 'string') return value
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(value) ?? []
  if (number === undefined || unit === undefined) return value
  const factor = unit === '' ? 1 : units[unit.toLowerCase()]
  return factor === undefined ? value : Number(number) * factor
}
