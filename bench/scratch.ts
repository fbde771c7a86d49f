import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Runs `work` with an empty folder and a signal that SIGINT and SIGTERM abort, and removes the folder afterwards.
 * Sets the exit code: 130 when interrupted, 1 when `work` throws.
 */
export async function withScratch(work: (folder: string, signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController()
  const interrupt = (): void => controller.abort(new Error('interrupted'))
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  const folder = await mkdtemp(join(tmpdir(), 'orbweaver-bench-'))
  try {
    await work(folder, controller.signal)
  } catch (error) {
    process.exitCode = controller.signal.aborted ? 130 : 1
    console.error(controller.signal.aborted ? 'interrupted' : error)
  } finally {
    await rm(folder, { recursive: true, force: true })
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
  }
}
