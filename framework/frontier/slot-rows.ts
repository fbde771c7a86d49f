import type Database from 'libsql'
import { Request } from '../http/request.ts'
import type { SlotMemory, Slots } from '../slots/slots.ts'
import type { Statements } from './tables.ts'

interface Row {
  readonly seq: number
  readonly slot: string
  readonly body: string
}

/** What was learned of hosts before. */
export function readSlots(database: Database.Database): SlotMemory[] {
  return database.prepare('select slot, delay_ms as delayMs, least_delay_ms as leastDelayMs, paused_until as pausedUntil, reason from slot').all() as SlotMemory[]
}

/** Remembers what was learned of a host; a host without anything to remember has no row. */
export function keepSlot({ keepSlot: keep, forgetSlot: forget }: Statements, memory: SlotMemory): void {
  const { slot, delayMs, leastDelayMs, pausedUntil, reason } = memory
  if (delayMs === 0 && leastDelayMs === 0 && pausedUntil === 0) forget.run(slot)
  else keep.run(slot, delayMs, leastDelayMs, pausedUntil, reason)
}

/** Moves requests into the lines that `slots` has for them, when these had other names at the start before. */
export function nameSlots(database: Database.Database, slots: Slots): void {
  const find = database.prepare(`select value from meta where name = 'slots'`)
  const before = (find.get() as { value: string } | undefined)?.value
  if (before === slots.by) return
  database.exec('begin immediate')
  if (before !== undefined) {
    const rename = database.prepare('update request set slot = ? where seq = ?')
    const select = database.prepare('select seq, slot, body from request where seq > ? order by seq limit 1000')
    for (let rows = select.all(Number.MIN_SAFE_INTEGER) as Row[]; rows.length > 0; rows = select.all(rows.at(-1)?.seq) as Row[]) {
      for (const { seq, slot, body } of rows) {
        const name = slots.nameOf(slotOf(body) ?? slot)
        if (name !== slot) rename.run(name, seq)
      }
    }
  }
  database.prepare(`insert into meta values ('slots', ?) on conflict do update set value = excluded.value`).run(slots.by)
  database.exec('commit')
}

/** Undefined for a row that can't be read: it fails when it is leased. */
function slotOf(body: string): string | undefined {
  try {
    return Request.fromJSON(JSON.parse(body)).slot
  } catch {
    return undefined
  }
}
