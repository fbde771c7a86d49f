import { LRUCache } from 'lru-cache'
import { pino } from 'pino'
import pretty from 'pino-pretty'
import type { Log } from '../log.ts'
import { cleanText } from './clean.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface LoggerOptions {
  readonly level: LogLevel
  /** One JSON object a line instead of text. */
  readonly json: boolean
  readonly colour: boolean
  readonly write: (text: string) => void
  /** ms since 1970. Default the clock's. */
  readonly now?: () => number
}

interface Repetition {
  readonly level: LogLevel
  writtenAt: number
  withheld: number
}

/** A line that says the same of the same host is written once in so many ms. */
const repeatMs = 60_000

/**
 * Writes a crawl's log: `HH:MM:SS level: message`, or JSON. What says the same of the same host is written once a minute,
 * and then with the number of those withheld; at the level debug everything is written.
 */
export class Logger implements Log {
  readonly #now: () => number
  readonly #pino: pino.Logger
  readonly #isText: boolean
  readonly #repetitions = new LRUCache<string, Repetition>({ max: 1_000 })

  constructor({ level, json, colour, write, now = Date.now }: LoggerOptions) {
    this.#now = now
    this.#isText = !json
    const format = pretty.prettyFactory({
      colorize: colour,
      customColors: 'message:reset',
      useOnlyCustomProps: false,
      customPrettifiers: { time: String, level: (_level, _key, _log, { labelColorized }) => labelColorized.toLowerCase() },
      hideObject: true,
      ignore: 'pid,hostname',
      translateTime: 'SYS:HH:MM:ss',
    })
    this.#pino = pino(
      { level, base: null, serializers: { error: pino.stdSerializers.err }, ...(json ? { formatters: { level: (label) => ({ level: label }) }, timestamp: pino.stdTimeFunctions.isoTime } : {}) },
      { write: (line) => write(json ? line : `${format(line).trimEnd()}\n`) },
    )
  }

  setLevel(level: LogLevel): void {
    this.#pino.level = level
  }

  debug(fields: object, message: string): void {
    this.#write('debug', fields, message)
  }

  info(fields: object, message: string): void {
    this.#write('info', fields, message)
  }

  warn(fields: object, message: string): void {
    this.#write('warn', fields, message)
  }

  error(fields: object, message: string): void {
    this.#write('error', fields, message)
  }

  /** Writes how many lines have been withheld and not told of yet. */
  flush(): void {
    for (const [key, { level, withheld }] of this.#repetitions.entries()) {
      const [host, reason] = key.split('\n')
      if (withheld > 0) this.#emit(level, { host, reason, withheld }, `${host}: ${withheld} more like it: ${reason}`)
    }
    this.#repetitions.clear()
  }

  #write(level: LogLevel, fields: object, message: string): void {
    if (!this.#pino.isLevelEnabled(level)) return
    const key = level === 'debug' || this.#pino.isLevelEnabled('debug') ? undefined : repetitionKey(level, fields)
    if (key === undefined) return this.#emit(level, fields, message)
    const now = this.#now()
    const known = this.#repetitions.get(key)
    if (known !== undefined && now - known.writtenAt < repeatMs) {
      known.withheld++
      return
    }
    const withheld = known?.withheld ?? 0
    this.#repetitions.set(key, { level, writtenAt: now, withheld: 0 })
    if (withheld === 0) this.#emit(level, fields, message)
    else this.#emit(level, { ...fields, withheld }, `${message} (and ${withheld} more like it)`)
  }

  #emit(level: LogLevel, fields: object, message: string): void {
    const text = this.#isText ? cleanText(message, 1_000) : message
    const { error } = fields as { error?: unknown }
    const stack = this.#isText && error instanceof Error && this.#pino.isLevelEnabled('debug') ? `\n${error.stack}` : ''
    this.#pino[level](fields, `${text}${stack}`)
  }
}

/** Lines with this key are the same: one host, one reason. Undefined for lines that name neither. */
function repetitionKey(level: LogLevel, fields: object): string | undefined {
  const { url, slot, host, reason } = fields as { url?: unknown; slot?: unknown; host?: unknown; reason?: unknown }
  const place = typeof slot === 'string' ? slot : typeof host === 'string' ? host : typeof url === 'string' && URL.canParse(url) ? new URL(url).host : undefined
  return place === undefined || typeof reason !== 'string' ? undefined : `${place}\n${reason}\n${level}`
}
