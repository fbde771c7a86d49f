import { LRUCache } from 'lru-cache'
import { getPublicSuffix } from 'tough-cookie'
import type { Settings } from '../settings/schema.ts'

/** Domains that are remembered; finding one takes about 2 µs. */
const cachedNames = 50_000
/** No host with a port is longer, in characters (RFC 1035 §2.3.4). */
export const maxHostLength = 261

/** Rules of publicsuffix.org, private ones too. An unknown last label counts as a public suffix, as do `test` and `localhost`. */
const suffixOptions = { allowSpecialUseDomain: true, ignoreError: true }

/**
 * What maps a request's slot to the name of the slot that it shares. By `host` each is its own, in lower case. By `domain`
 * all hosts and ports of one registrable domain share its slot; addresses, single labels such as `localhost`, public
 * suffixes themselves and names that are no host stay as they are, with their port.
 */
export function slotNames(by: Settings['slot']['by']): (slot: string) => string {
  if (by === 'host') return (slot) => slot.toLowerCase()
  const known = new LRUCache<string, string>({ max: cachedNames })
  return (slot) => {
    const cached = known.get(slot)
    if (cached !== undefined) return cached
    const own = slot.toLowerCase()
    const name = registrableDomain(own) ?? own
    if (slot.length <= maxHostLength) known.set(slot, name)
    return name
  }
}

function registrableDomain(slot: string): string | undefined {
  if (slot.length > maxHostLength) return undefined
  const [, host] = /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)+)\.?(?::\d+)?$/.exec(slot) ?? []
  return host === undefined ? undefined : getPublicSuffix(host, suffixOptions)
}
