import { CrawlError, DownloadError, isCrawlError, messageOf, type DownloadFailure } from '../errors.ts'

type Kind = readonly [reason: DownloadFailure, transient: boolean, text: string]

const refused: Kind = ['refused', true, 'refused the connection']
const reset: Kind = ['reset', true, 'closed the connection before its answer was complete']
const timeout: Kind = ['timeout', true, 'did not answer in time']
const dns: Kind = ['dns', true, 'could not be resolved to an address']
const unreachable: Kind = ['network', true, 'could not be reached']
const garbled: Kind = ['bad response', false, 'answered something that is no HTTP']

const mislabelled: Kind = ['bad encoding', false, 'is not compressed as its Content-Encoding says']
const damaged: Kind = ['bad encoding', true, 'sent a broken compressed body']
const untrusted: Kind = ['tls', false, 'has no certificate that can be trusted, or speaks no TLS']

/** By the codes of Node, undici and llhttp. */
const kinds: Readonly<Record<string, Kind>> = {
  ECONNREFUSED: refused,
  ECONNRESET: reset,
  ECONNABORTED: reset,
  EPIPE: reset,
  UND_ERR_SOCKET: reset,
  HPE_INVALID_EOF_STATE: reset,
  ETIMEDOUT: timeout,
  UND_ERR_CONNECT_TIMEOUT: timeout,
  UND_ERR_HEADERS_TIMEOUT: timeout,
  UND_ERR_BODY_TIMEOUT: timeout,
  ENOTFOUND: dns,
  ENODATA: dns,
  UND_ERR_HEADERS_OVERFLOW: ['bad response', false, 'answered with headers that are too large'],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: ['bad response', true, 'sent another length than its Content-Length says'],
  EPROTO: untrusted,
}

/** Codes of undici for a request that can't be written: a header with a line break in it, for example. */
const ownFaults: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
])

/**
 * What went wrong with `url`, in orbweaver's words: a DownloadError for whatever the network or the server did, a CrawlError
 * for a request that can't be sent. Errors of orbweaver, and errors that are no system's, are answered as they are.
 */
export function toFailure(error: unknown, url: string): unknown {
  if (isCrawlError(error) || !(error instanceof Error)) return error
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (ownFaults.has(code)) {
    const rule = 'Header names are words, header values one line of Latin-1.'
    const message = `${shownUrl(url)} can't be asked for: ${messageOf(error)}. ${rule}`
    return new CrawlError('request', message, { reason: 'bad request', cause: error })
  }
  const kind = kindOf(error, code)
  if (kind === undefined) return error
  const [reason, transient, text] = kind
  return new DownloadError(reason, `${shownUrl(url)} ${text}: ${messageOf(error) || code}`, { transient, cause: error })
}

function kindOf(error: Error, code: string): Kind | undefined {
  const known = kinds[code]
  if (known !== undefined) return known
  if (error.name === 'HTTPParserError') return garbled
  if (code.startsWith('EAI_')) return dns
  if (tlsCode.test(code)) return untrusted
  if (code.startsWith('Z_') || code.startsWith('ERR__ERROR_') || code.startsWith('ERR_BROTLI')) {
    return code === 'Z_DATA_ERROR' && error.message.includes('header') ? mislabelled : damaged
  }
  return code === '' ? undefined : unreachable
}

const tlsCode = /^(ERR_TLS|ERR_SSL|UNABLE_TO|CERT|CRL|ERROR_IN|HOSTNAME_MISMATCH|INVALID|DEPTH_ZERO|SELF_SIGNED)_|_CERT(_|$)/

/** `url` for a message: without user name and password, at most 200 characters. */
export function shownUrl(url: string): string {
  const shown = url.replace(/^(https?:\/\/)[^/?#]*@/, '$1')
  return shown.length > 200 ? `${shown.slice(0, 199)}…` : shown
}
