import type { Request } from '../http/request.ts'
import type { Settings } from '../settings/schema.ts'

type Rules = Settings['queue']['priorities']

/** What decides which request of a host goes first: its own priority and that of the first rule that fits its URL. */
export function prioritiesOf(rules: Rules): (request: Request) => number {
  if (rules.length === 0) return (request) => request.priority
  const compiled = rules.map(({ url, priority }) => ({ fits: compile(url), priority }))
  return (request) => request.priority + (compiled.find(({ fits }) => fits(request.url))?.priority ?? 0)
}

/** `*` stands for any text, also none. A pattern that begins with `/` is matched with path and query, another with the whole URL. */
function compile(pattern: string): (url: string) => boolean {
  const parts = pattern.split('*')
  const isPath = pattern.startsWith('/')
  return (url) => fits(parts, isPath ? pathOf(url) : url)
}

function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  return start === -1 ? '/' : url.slice(start)
}

/** Each part is looked for once, from where the one before ended: no pattern is slow on any URL. */
function fits(parts: readonly string[], text: string): boolean {
  const first = parts[0] as string
  const last = parts.at(-1) as string
  if (parts.length === 1) return text === first
  if (!text.startsWith(first)) return false
  let from = first.length
  for (const part of parts.slice(1, -1)) {
    const at = text.indexOf(part, from)
    if (at === -1) return false
    from = at + part.length
  }
  return text.length - last.length >= from && text.endsWith(last)
}
