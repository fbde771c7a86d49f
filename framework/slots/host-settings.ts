import { isIPv4 } from 'node:net'
import { SettingsError } from '../errors.ts'
import type { Settings } from '../settings/schema.ts'
import { maxHostLength, slotNames } from './slot-names.ts'

/** The settings that decide about slots. */
export interface SlotsOptions {
  readonly slot: Settings['slot']
  readonly hosts: Settings['hosts']
  /** Without it a delay that was learned before isn't taken up again: nothing would ease it. Default: it is on. */
  readonly autothrottle?: Pick<Settings['autothrottle'], 'enabled'>
}

/** What holds for one slot: `slot`, with what `hosts` says about its name. */
export type HostSettings = Readonly<Omit<Settings['slot'], 'by'>>

/** What a URL may have beside its host, wildcards, and a port. */
const beyondHost = /[\s*/\\?#@]|^[^[]*:|\]./

/**
 * What finds the settings of a slot by its name. A name in `hosts` is a host, at all its ports or with one of them;
 * `*.example.com`, the subdomains of any depth without `example.com` itself; or `*`, any. The longest that fits counts, and
 * what it doesn't set is that of `slot`. A lookup takes a few steps for each dot, however many names there are.
 * @throws SettingsError for a name that can fit nothing.
 */
export function hostSettings({ slot, hosts }: SlotsOptions): (name: string) => HostSettings {
  const { by, ...plain } = slot
  const known = new Map<string, HostSettings>()
  for (const [key, given] of Object.entries(hosts)) {
    const name = checked(key, by)
    if (known.has(name)) throw new SettingsError(`The setting hosts has the name "${key}" in two spellings: keep one of them.`)
    const set = Object.entries(given).filter(([, value]) => value !== undefined)
    known.set(name, Object.freeze({ ...plain, ...Object.fromEntries(set) }))
  }
  if (known.size === 0) return () => plain
  return (name) => find(known, name) ?? plain
}

function find(known: ReadonlyMap<string, HostSettings>, name: string): HostSettings | undefined {
  const [port = ''] = /:\d+$/.exec(name) ?? []
  const host = name.slice(0, name.length - port.length)
  const own = known.get(name) ?? known.get(host)
  if (own !== undefined || name.length > maxHostLength) return own ?? known.get('*')
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    const above = `*${host.slice(dot)}`
    const found = (port === '' ? undefined : known.get(above + port)) ?? known.get(above)
    if (found !== undefined) return found
  }
  return known.get('*')
}

/** The name as slots have it: its host as URLs have it, in lower case and in ASCII. */
function checked(key: string, by: Settings['slot']['by']): string {
  if (key === '*') return key
  const isWildcard = key.startsWith('*.')
  const [, written = '', port = ''] = /^(.*?)(:[1-9]\d{0,4})?$/.exec(isWildcard ? key.slice(2) : key) ?? []
  const url = `http://${written}`
  const host = beyondHost.test(written) || !URL.canParse(url) ? '' : new URL(url).hostname
  if (host === '' || (isWildcard && (isIPv4(host) || host.startsWith('[')))) {
    const forms = 'a host (example.com, example.com:8080), *.example.com for its subdomains, or * for all'
    throw new SettingsError(`The setting hosts can't have the name "${key}", which fits no host: write ${forms}.`)
  }
  if (by === 'domain') checkDomain(key, `${isWildcard ? 'any.' : ''}${host}${port}`)
  return `${isWildcard ? '*.' : ''}${host}${port}`
}

/** By domain, slots have the names of registrable domains alone. */
function checkDomain(key: string, slot: string): void {
  const domain = slotNames('domain')(slot)
  if (domain === slot) return
  const reason = 'which fits nothing while slot.by is "domain"'
  throw new SettingsError(`The setting hosts has the name "${key}", ${reason}: write "${domain}", for all its hosts.`)
}
