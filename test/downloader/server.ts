import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createRawServer, type AddressInfo, type Server, type Socket } from 'node:net'

export interface TestServer {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly host: string
  /** `METHOD /path` of every request, in order. Empty for a raw server. */
  readonly asked: string[]
  readonly connections: () => number
  close(): Promise<void>
}

/** An HTTP server on loopback. */
export async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<TestServer> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    handle(request, response)
  })
  return listening(server, asked)
}

/** A server that speaks whatever bytes `handle` writes; `head` is what the client sent up to the blank line. */
export async function serveRaw(handle: (socket: Socket, head: string, connection: number) => void): Promise<TestServer> {
  const asked: string[] = []
  let connection = 0
  const server = createRawServer((socket) => {
    const number = ++connection
    let received = ''
    socket.on('error', () => {})
    socket.on('data', (data) => {
      received += data.toString('latin1')
      for (let end; (end = received.indexOf('\r\n\r\n')) !== -1; received = received.slice(end + 4)) {
        const head = received.slice(0, end)
        asked.push(head.slice(0, head.indexOf(' HTTP/')))
        handle(socket, head, number)
      }
    })
  })
  return listening(server, asked)
}

async function listening(server: Server, asked: string[]): Promise<TestServer> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}`,
    host,
    asked,
    connections: () => connections,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
