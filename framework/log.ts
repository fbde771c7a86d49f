/** Where a crawl writes what happens. `fields` are for machines, `message` for people. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Writes nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
