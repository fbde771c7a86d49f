import { EmbeddedFrontier, type EmbeddedFrontierOptions } from '../../framework/frontier/embedded.ts'
import { silentLog } from '../../framework/log.ts'
import { loadSettings } from '../../framework/settings/load.ts'
import type { Settings } from '../../framework/settings/schema.ts'
import { Slots } from '../../framework/slots/slots.ts'

const { settings } = loadSettings({})

/** No delays, and one request at once to narrow.example. */
export const openSlots = (slot: Partial<Settings['slot']> = {}): Slots =>
  new Slots({ slot: { ...settings.slot, delayMs: 0, concurrency: 100, ...slot }, hosts: { 'narrow.example': { concurrency: 1 } } })

/** A frontier by the default settings. */
export function open(path: string, options: Partial<EmbeddedFrontierOptions> = {}): EmbeddedFrontier {
  return new EmbeddedFrontier({
    path, fresh: false, slots: openSlots(), dupeFilter: settings.dupeFilter, order: 'breadth', synchronous: 'normal', identity: {},
    priorityOf: ({ priority }) => priority,
    log: silentLog, signal: new AbortController().signal, outageMs: 0,
    ...options,
  })
}
