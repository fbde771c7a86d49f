import { IgnoreRequest, SettingsError, type DownloaderMiddleware } from 'orbweaver'

/**
 * Keeps pages on the spider's domains and their subdomains; images may come from anywhere. A domain with a port allows that
 * port alone. Without domains, every page is allowed.
 */
export const offsite: DownloaderMiddleware = ({ allowedDomains }) => {
  const allowed = new Set(allowedDomains.map(normalized))
  return async function offsite(request, next) {
    if (request.kind !== 'page' || allowed.size === 0) return next(request)
    const url = new URL(request.url)
    if (isAllowed(url, allowed)) return next(request)
    throw new IgnoreRequest('off site', { message: `${url.host} is none of the allowed domains: ${[...allowed].join(', ')}.` })
  }
}

function isAllowed({ hostname, port, protocol }: URL, allowed: ReadonlySet<string>): boolean {
  const host = withoutDots(hostname)
  const end = `:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`
  for (let start = 0; ; ) {
    const domain = host.slice(start)
    if (allowed.has(domain) || allowed.has(domain + end)) return true
    start = host.indexOf('.', start) + 1
    if (start === 0) return false
  }
}

/** `*.Bücher.example:8080` is written as URLs have it: `xn--bcher-kva.example:8080`. */
function normalized(entry: string): string {
  const [, name = '', port = ''] = /^(?:\*\.|\.)?(.*?)(:\d+)?$/.exec(entry.trim()) ?? []
  try {
    const { hostname, pathname, username, search } = new URL(`http://${name}/`)
    if (pathname === '/' && username === '' && search === '' && hostname !== '') return withoutDots(hostname) + port
  } catch (cause) {
    throw notADomain(entry, cause)
  }
  throw notADomain(entry)
}

const withoutDots = (host: string): string => (host.endsWith('.') ? host.slice(0, -1) : host)

function notADomain(entry: string, cause?: unknown): SettingsError {
  const message = `allowedDomains: "${entry}" is no domain. Write example.org, without scheme and path; a port may follow.`
  return new SettingsError(message, { cause })
}
