import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { LRUCache } from 'lru-cache'
import { buildConnector } from 'undici'
import { DownloadError } from '../errors.ts'

/** Addresses, written as a prefix and its length, that are no public hosts (RFC 6890 and the clouds' own services). */
const closed4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]
const closed6: readonly (readonly [string, number])[] = [
  ['::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 32],
  ['2001:db8::', 32],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]

const closed = new BlockList()
for (const [prefix, length] of closed4) {
  const [a, b, c, d] = prefix.split('.').map(Number) as [number, number, number, number]
  const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  closed.addSubnet(prefix, length, 'ipv4')
  closed.addSubnet(`::ffff:${hex}`, 96 + length, 'ipv6')
  closed.addSubnet(`64:ff9b::${hex}`, 96 + length, 'ipv6')
  closed.addSubnet(`2002:${hex}::`, 16 + length, 'ipv6')
}
for (const [prefix, length] of closed6) closed.addSubnet(prefix, length, 'ipv6')

/**
 * True for addresses that pages of strangers must not reach: loopback, private, link-local (cloud metadata), carrier NAT,
 * multicast, unspecified and reserved ones, also when written as IPv4-mapped, NAT64 or 6to4 IPv6, and whatever is no address.
 */
export function isForbiddenAddress(address: string): boolean {
  const bare = address.split('%', 1)[0] ?? ''
  const family = isIP(bare)
  return family === 0 || closed.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

type Resolve = (
  host: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

export interface LookupSettings {
  /** Allow loopback, private and link-local addresses: the setting `network.allowPrivate`. */
  readonly allowPrivate: boolean
  /** Asks for the addresses of a host. Default: the system's resolver. */
  readonly resolve?: Resolve
}

const cachedHosts = 10_000
const cachedMs = 60_000

/**
 * A lookup for sockets that answers only addresses that may be connected to. Since the socket connects to what it answers, a
 * name can't resolve to something else after the check. Answers are kept for a minute; equal questions share one.
 */
export function createLookup({ allowPrivate, resolve = systemLookup }: LookupSettings): LookupFunction {
  const cache = new LRUCache<string, LookupAddress[]>({ max: cachedHosts, ttl: cachedMs })
  const asked = new Map<string, Promise<LookupAddress[]>>()

  const ask = (host: string): Promise<LookupAddress[]> => {
    const pending = asked.get(host)
    if (pending !== undefined) return pending
    const answer = new Promise<LookupAddress[]>((fulfil, reject) => {
      resolve(host, { all: true }, (error, addresses) => {
        asked.delete(host)
        if (error !== null) return reject(error)
        const open = allowPrivate ? addresses : addresses.filter(({ address }) => !isForbiddenAddress(address))
        if (open.length === 0) return reject(forbidden(host, addresses[0]?.address ?? 'no address'))
        cache.set(host, open)
        fulfil(open)
      })
    })
    asked.set(host, answer)
    return answer
  }

  return (host, options, reply) => {
    const answer = (addresses: LookupAddress[]): void => {
      const { family } = options
      const wanted = family === 4 || family === 6 ? addresses.filter((address) => address.family === family) : addresses
      const first = wanted[0]
      if (first === undefined) {
        const error = Object.assign(new Error(`${host} has no IPv${family} address`), { code: 'ENOTFOUND' })
        reply(error, '')
      } else if (options.all === true) reply(null, wanted)
      else reply(null, first.address, first.family)
    }
    const known = cache.get(host)
    if (known !== undefined) process.nextTick(answer, known)
    else ask(host).then(answer, (error: NodeJS.ErrnoException) => reply(error, ''))
  }
}

/** An address gets so many milliseconds before the next one of its host is tried: Node's own 250 are too few for slow lines. */
const attemptMs = 1_000

export interface ConnectorSettings extends LookupSettings {
  /** Milliseconds for name, connection and TLS together. */
  readonly connectMs: number
}

/** Opens undici's sockets: only to addresses that are allowed, and within `connectMs` exactly. */
export function createConnector(settings: ConnectorSettings): buildConnector.connector {
  const { allowPrivate, connectMs } = settings
  const connect = buildConnector({
    // undici's own clock fires up to a second late, so it only clears up after the timer below.
    timeout: connectMs + 1_000,
    allowH2: false,
    lookup: createLookup(settings),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptMs,
  })
  return (options, callback) => {
    const { hostname } = options
    // Node asks no lookup for a host that is an address.
    if (!allowPrivate && isIP(hostname) !== 0 && isForbiddenAddress(hostname)) return callback(forbidden(hostname, hostname), null)
    let expired = false
    const timer = setTimeout(() => {
      expired = true
      callback(new DownloadError('timeout', `No connection to ${hostname} within ${connectMs} ms.`, { transient: true }), null)
    }, connectMs)
    connect(options, (error, socket) => {
      clearTimeout(timer)
      if (expired) socket?.destroy()
      else if (error !== null) callback(error, null)
      else callback(null, socket)
    })
  }
}

function forbidden(host: string, address: string): DownloadError {
  const where = address === host ? 'is no public address' : `is at ${address}, no public address`
  const message = `${host} ${where}, so it isn't connected to. The setting network.allowPrivate allows it.`
  return new DownloadError('forbidden address', message, { transient: false })
}
