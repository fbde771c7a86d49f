import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import sharp from 'sharp'

export interface Site {
  /** With a slash at its end. */
  readonly url: string
  /** How often each path was asked for. */
  readonly requests: Map<string, number>
  close(): Promise<void>
}

/** A server on loopback that counts what it is asked for. */
export async function serve(listener: RequestListener): Promise<Site> {
  const requests = new Map<string, number>()
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    requests.set(path, (requests.get(path) ?? 0) + 1)
    listener(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/**
 * A first page that shows `images` pictures, all different, and links to two more pages that show one of them.
 * @param gate holds up the pictures from the third on until it resolves.
 */
export async function serveGallery(images: number, gate: Promise<void> = Promise.resolve()): Promise<Site> {
  const pictures = await Promise.all(Array.from({ length: images }, (_, index) => paint(index)))
  return serve((request, response) => {
    const number = Number(/^\/(\d+)\.png$/.exec(request.url ?? '')?.[1] ?? NaN)
    const picture = pictures[number]
    if (picture !== undefined) {
      void (number < 2 ? Promise.resolve() : gate).then(() => response.setHeader('content-type', 'image/png').end(picture))
      return
    }
    response.setHeader('content-type', 'text/html')
    if (request.url === '/') response.end(`<a href="/a">a</a><a href="/b">b</a>${pictures.map((_, index) => `<img src="/${index}.png" alt="${index}">`).join('')}`)
    else if (request.url === '/a' || request.url === '/b') response.end('<img src="/0.png">')
    else response.writeHead(404).end()
  })
}

/** Coarse noise, so that no two pictures look alike. */
async function paint(seed: number): Promise<Buffer> {
  let state = seed * 7919 + 17
  const cells = Buffer.from(Array.from({ length: 64 }, () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) >> 16 & 255))
  return sharp(cells, { raw: { width: 8, height: 8, channels: 1 } }).resize(160, 160, { kernel: 'cubic' }).png().toBuffer()
}
