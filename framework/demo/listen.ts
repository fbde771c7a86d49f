import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SettingsError } from '../errors.ts'

interface Choice {
  readonly address: string
  /** 0: any free one. */
  readonly port: number
}

/**
 * Has a server listen on the first of these that is free, and answers its origin.
 * @throws SettingsError when none is; it names the first one.
 */
export async function listen(server: Server, choices: readonly Choice[]): Promise<string> {
  const [first] = choices
  let failure: unknown
  for (const { address, port } of choices) {
    try {
      server.listen(port, address)
      await once(server, 'listening')
      return `http://${address}:${(server.address() as AddressInfo).port}`
    } catch (error) {
      failure ??= error
    }
  }
  throw new SettingsError(explain(failure, `${first?.address}:${first?.port}`), { cause: failure })
}

function explain(error: unknown, place: string): string {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'EADDRINUSE') {
    return `The demo site can't listen on ${place}: the port is taken. Choose another one with --port, or 0 for any free one.`
  }
  if (code === 'EACCES') return `The demo site may not listen on ${place}: choose a port above 1023 with --port.`
  return `The demo site can't listen on ${place}: ${error instanceof Error ? error.message : String(error)}`
}
