import type { LoadableDupeFilter } from './fingerprint-parts.ts'

export interface DupeFilterByHostOptions {
  /** Makes the filter of one host: a small one that grows, since most hosts have few URLs. */
  readonly make: () => LoadableDupeFilter
  /** How many URLs of all hosts together the settings promise room for. Default: any number. */
  readonly capacity?: number
  /** Called once, when more than `capacity` URLs have been added. */
  readonly onGrown?: (() => void) | undefined
}

/**
 * Host and port of an absolute, canonical http(s) URL, as it is written there. Not parsed: nearly every link of a page
 * comes here.
 */
export function hostOf(url: string): string {
  const start = url.indexOf('//') + 2
  const slash = url.indexOf('/', start)
  const authority = url.slice(start, slash === -1 ? url.length : slash)
  return authority.slice(authority.lastIndexOf('@') + 1)
}

/** Objects, arrays and the entry in the map that a host costs beside the bytes of its filter and of its name. */
const bytesPerHost = 650

/**
 * One filter for each host, so that it is as large as its host needs it, and a host with millions of URLs doesn't fill the
 * filter of the others. The number of hosts isn't bounded: each costs its filter and about 650 bytes.
 */
export class DupeFilterByHost implements LoadableDupeFilter {
  readonly #options: DupeFilterByHostOptions
  readonly #filters = new Map<string, LoadableDupeFilter>()
  /** What was added without a host. Every host asks it too. */
  #shared: LoadableDupeFilter | undefined
  #nameBytes = 0
  #size = 0

  constructor(options: DupeFilterByHostOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#size
  }

  get bytes(): number {
    let sum = this.#nameBytes + this.#filters.size * bytesPerHost + (this.#shared?.bytes ?? 0)
    for (const filter of this.#filters.values()) sum += filter.bytes
    return sum
  }

  has(fingerprint: string, url: string): boolean {
    if (this.#filters.get(hostOf(url))?.has(fingerprint, url) === true) return true
    return this.#shared?.has(fingerprint, url) === true
  }

  add(fingerprint: string, url: string): boolean {
    if (this.#shared?.has(fingerprint, url) === true) return false
    return this.#count(this.#filterOf(hostOf(url)).add(fingerprint, url))
  }

  /** Without a `host` it is remembered for all of them: see `adopt`. */
  addParts(high: number, low: number, high2: number, low2: number, host?: string): boolean {
    if (host === undefined) return this.adopt(high, low, high2, low2)
    return this.#count(this.#filterOf(host).addParts(high, low, high2, low2))
  }

  /** Remembers a fingerprint of which the host isn't known, since another kind of dupe filter stored it. */
  adopt(high: number, low: number, high2: number, low2: number): boolean {
    this.#shared ??= this.#options.make()
    return this.#count(this.#shared.addParts(high, low, high2, low2))
  }

  #count(isNew: boolean): boolean {
    if (!isNew) return false
    this.#size += 1
    if (this.#size === (this.#options.capacity ?? Infinity) + 1) this.#options.onGrown?.()
    return true
  }

  #filterOf(host: string): LoadableDupeFilter {
    const found = this.#filters.get(host)
    if (found !== undefined) return found
    const filter = this.#options.make()
    this.#filters.set(ownCopy(host), filter)
    this.#nameBytes += host.length
    return filter
  }
}

/** V8 makes a slice of a string a view that would keep the whole URL in memory. */
function ownCopy(text: string): string {
  return Buffer.from(text).toString()
}
