import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A process of the bench that works on one input and reports with one message. */
export class Child<Report> {
  /** The first message. Rejects when the process ends without one. */
  readonly report: Promise<Report>
  /** Resolves when the process has ended, however it did. */
  readonly ended: Promise<void>
  readonly #process: ChildProcess

  /** Starts `file` of this folder with `input` as JSON; it is killed when `signal` aborts. */
  constructor(file: string, input: unknown, signal: AbortSignal, nodeOptions: readonly string[] = []) {
    signal.throwIfAborted()
    this.#process = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(input)], {
      execArgv: [...process.execArgv, ...nodeOptions],
      // As the command has it: sharp, files and DNS share these threads.
      env: { ...process.env, UV_THREADPOOL_SIZE: '16' },
      stdio: ['ignore', 2, 2, 'ipc'],
    })
    const kill = (): void => this.kill()
    signal.addEventListener('abort', kill, { once: true })
    this.ended = new Promise((resolve) => {
      this.#process.once('close', () => {
        signal.removeEventListener('abort', kill)
        resolve()
      })
    })
    this.report = new Promise((resolve, reject) => {
      this.#process.once('message', (message) => resolve(message as Report))
      this.#process.once('error', reject)
      this.#process.once('close', (code, signalName) => {
        const end = signalName ?? `exit code ${code}`
        reject(signal.aborted ? signal.reason : new Error(`bench/${file} ended without a report (${end})`))
      })
    })
  }

  /** Ends the process at once. */
  kill(): void {
    this.#process.kill('SIGKILL')
  }
}

const longestRunMs = 20 * 60_000

/** Runs `file` to its end and answers its report. Throws when there is none after 20 minutes. */
export async function runChild<Report>(
  file: string,
  input: unknown,
  signal: AbortSignal,
  nodeOptions?: readonly string[],
): Promise<Report> {
  const child = new Child<Report>(file, input, signal, nodeOptions)
  const timer = setTimeout(() => {
    console.error(`bench/${file} is killed: no report after ${longestRunMs / 60_000} minutes`)
    child.kill()
  }, longestRunMs)
  const [report] = await Promise.allSettled([child.report, child.ended])
  clearTimeout(timer)
  if (report.status === 'rejected') throw report.reason
  return report.value
}

/** In a child: what the parent handed over. Also ends the child when the parent has gone. */
export function receiveInput<Input>(): Input {
  process.once('disconnect', () => process.exit(1))
  // The listener alone would keep the child alive for ever.
  process.channel?.unref()
  return JSON.parse(process.argv[2] ?? 'null') as Input
}

/** In a child: sends the report. */
export async function sendReport(report: unknown): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.send?.(report, (error: Error | null) => (error === null ? resolve() : reject(error)))
  })
}
