/** `1234567` as `1,234,567`. */
export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** `count` with the word for it: `1 image`, `1,200 images`. */
export function formatCounted(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(count)} ${count === 1 ? singular : plural}`
}

/** Bytes as `950 B`, `38 kB`, `4.5 MB`, `120 GB`. */
export function formatBytes(bytes: number): string {
  let value = bytes
  for (const unit of ['B', 'kB', 'MB', 'GB']) {
    if (value < 999.5) return `${unit === 'B' || value >= 10 ? Math.round(value) : value.toFixed(1)} ${unit}`
    value /= 1000
  }
  return `${value.toFixed(1)} TB`
}

/** Milliseconds as `850 ms`, `9.8 s`, `2 min 5 s`, `3 h 12 min`, `2 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1).replace(/\.0$/, '')} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return pair(seconds, 60, 'min', 's')
  const minutes = Math.round(seconds / 60)
  return minutes < 24 * 60 ? pair(minutes, 60, 'h', 'min') : pair(Math.round(minutes / 60), 24, 'd', 'h')
}

function pair(total: number, base: number, large: string, small: string): string {
  const rest = total % base
  return `${Math.floor(total / base)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`
}

/** So many a second: `0.42`, `4.2`, `42`. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0'
  return perSecond < 1 ? perSecond.toFixed(2) : perSecond < 10 ? perSecond.toFixed(1) : formatCount(perSecond)
}

/** Local date and time, to the minute: `2026-01-31 10:15`. */
export function formatDate(time: number): string {
  const date = new Date(time)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** Local time of day, with its date unless that is today: `10:15:30`. */
export function formatClock(time: number, now = Date.now()): string {
  const date = new Date(time)
  if (date.toDateString() !== new Date(now).toDateString()) return formatDate(time)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

const two = (value: number): string => String(value).padStart(2, '0')
