/** A request as the frontier keeps it. */
export interface QueueRow {
  readonly slot: string
  readonly priority: number
  /** Milliseconds since 1970. */
  readonly due: number
  /** 108 bytes of JSON. */
  readonly body: string
  /** 64 bits, signed, as SQLite keeps integers. */
  readonly fingerprint: bigint
}

export interface LeasedRow {
  readonly seq: number
  readonly attempts: number
  readonly body: string
}

/** The work of a frontier on its tables. Each call is one transaction. */
export interface Queue {
  add(rows: readonly QueueRow[]): Promise<void>
  /** Counts an attempt of the first `limit` rows that are due, and makes them due again at `until`. */
  lease(limit: number, now: number, until: number): Promise<readonly LeasedRow[]>
  /** Deletes the rows: they are done. */
  settle(leased: readonly LeasedRow[]): Promise<void>
  close(): Promise<void>
}

/** How the tables are written. */
export const writers = [
  'MikroORM insertMany',
  'MikroORM query builder',
  'MikroORM json_each',
  'libsql prepared once',
  'libsql prepared each time',
  'libsql json_each',
] as const
export type Writer = (typeof writers)[number]

export const connectionSql = 'pragma synchronous = normal; pragma busy_timeout = 5000'

export const schemaSql = [
  `create table queue (seq integer primary key, slot text not null, priority integer not null, due integer not null,
    attempts integer not null, body text not null)`,
  'create index queue_order on queue (priority desc, seq)',
  'create table seen (n integer primary key, fp integer not null)',
]

/** One statement for a batch: its rows come as one JSON array. */
export const batchSql = {
  addQueue: `insert into queue (slot, priority, due, attempts, body)
    select value ->> 0, value ->> 1, value ->> 2, 0, value ->> 3 from json_each(?)`,
  addSeen: 'insert into seen (fp) select cast(value as integer) from json_each(?)',
  select: 'select seq, attempts, body from queue where due <= ? order by priority desc, seq limit ?',
  lease: 'update queue set attempts = attempts + 1, due = ? where seq in (select value from json_each(?))',
  settle: 'delete from queue where seq in (select value from json_each(?))',
}

export const encodeRows = (rows: readonly QueueRow[]): string =>
  JSON.stringify(rows.map(({ slot, priority, due, body }) => [slot, priority, due, body]))
export const encodeFingerprints = (rows: readonly QueueRow[]): string =>
  JSON.stringify(rows.map(({ fingerprint }) => `${fingerprint}`))
export const encodeSeqs = (leased: readonly LeasedRow[]): string => JSON.stringify(leased.map(({ seq }) => seq))

/** Rows `from` to `from + count`, of 1,000 hosts. */
export function makeRows(from: number, count: number): QueueRow[] {
  const due = Date.now()
  return Array.from({ length: count }, (_, index) => {
    const number = from + index
    const url = `https://host-${number % 1_000}.example/gallery/`
    return {
      slot: `host-${number % 1_000}.example`,
      priority: number % 10 === 0 ? 10 : 0,
      due,
      body: `{"url":"${url}${`${number}`.padStart(79 - url.length, '0')}","callback":"parse"}`,
      fingerprint: BigInt.asIntN(64, BigInt(number + 1) * 0x9e37_79b9_7f4a_7c15n),
    }
  })
}
