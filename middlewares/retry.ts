import { isCrawlError, RetryRequest, retryAfterMs, type DownloadError, type DownloaderMiddleware } from 'orbweaver'

/** Methods that may be sent twice (RFC 9110 §9.2.2). */
const repeatable: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
/** Failures before anything was sent. */
const unsent: ReadonlySet<string> = new Set(['refused', 'dns'])

/**
 * Has the frontier try again, later, what failed for a reason that may pass: the statuses of `retry.statuses` and what the
 * network lost. A Retry-After sets the time, cut to ten times `retry.maxBackoffMs`; patience that was asked for costs no try.
 */
export const retry: DownloaderMiddleware = ({ settings, signal }) => {
  const statuses = new Set(settings.retry.statuses)
  const maxMs = settings.retry.maxBackoffMs * 10
  return async function retry(request, next) {
    const mayRepeat = repeatable.has(request.method)
    const response = await next(request).catch((error: unknown) => {
      if (signal.aborted || !isCrawlError(error, 'download')) throw error
      const { transient, reason, message } = error as DownloadError
      if (!transient || !(mayRepeat || unsent.has(reason))) throw error
      throw new RetryRequest(reason, { message, cause: error })
    })
    const { status } = response
    if (!mayRepeat || !statuses.has(status)) return response
    const asked = retryAfterMs(response)
    throw new RetryRequest(`http ${status}`, {
      ...(asked === undefined ? {} : { afterMs: Math.min(asked, maxMs) }),
      counted: status !== 429 && !(status === 503 && asked !== undefined),
    })
  }
}
