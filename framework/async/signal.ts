import { setMaxListeners } from 'node:events'

/** An abort controller that many workers may listen to without Node's leak warning. */
export function createAbortController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

/**
 * Runs `work` with a signal that aborts with `parent` or after `limitMs`, whichever is first. One listener, removed at
 * the end: `AbortSignal.any` on Node 20 keeps every composite of a long-lived signal alive (nodejs/node#54614).
 */
export async function within<T>(
  parent: AbortSignal,
  limitMs: number,
  onTimeout: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  parent.throwIfAborted()
  const controller = createAbortController()
  const stop = () => controller.abort(parent.reason)
  parent.addEventListener('abort', stop, { once: true })
  const timer = setTimeout(() => controller.abort(onTimeout()), limitMs)
  try {
    return await Promise.race([work(controller.signal), rejectOnAbort(controller.signal)])
  } finally {
    clearTimeout(timer)
    parent.removeEventListener('abort', stop)
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}

/** Waits `ms` milliseconds, or rejects with the signal's reason when it aborts first. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
