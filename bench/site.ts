/** A process of the bench: the site that is crawled, on a free loopback port. Its cost is nobody's measurement. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { receiveInput, sendReport } from './child.ts'
import { imagePath, pagePath, renderImageList, renderPage } from './page-html.ts'
import { loadPictures } from './pictures.ts'

export interface SiteInput {
  readonly pages: number
  readonly images: number
  /** Whether the images will be downloaded: rendering them takes a while the first time. */
  readonly servesImages: boolean
}

export interface SiteReport {
  /** For example `http://127.0.0.1:40123`. */
  readonly origin: string
  readonly meanPageBytes: number
  /** 0 when no images are served. */
  readonly meanImageBytes: number
}

const { pages, images, servesImages } = receiveInput<SiteInput>()
const pictures = servesImages ? await loadPictures(images) : []
const imageNumbers = new Map(pictures.map((_, number) => [imagePath(number), number]))
const pageNumbers = new Map(Array.from({ length: pages }, (_, number) => [pagePath(number), number]))
const imageList = Buffer.from(renderImageList(images))

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const path = request.url ?? '/'
  const page = pageNumbers.get(path)
  if (page !== undefined) return send(response, 200, 'text/html; charset=utf-8', Buffer.from(renderPage(page, pages, images)))
  const image = pictures[imageNumbers.get(path) ?? -1]
  if (image !== undefined) return send(response, 200, 'image/jpeg', image)
  if (path === '/images.html') return send(response, 200, 'text/html; charset=utf-8', imageList)
  send(response, 404, 'text/plain', Buffer.from('not found'))
})

function send(response: ServerResponse, status: number, type: string, body: Buffer): void {
  response.writeHead(status, { 'content-type': type, 'content-length': body.length }).end(body)
}

server.listen(0, '127.0.0.1', () => {
  const sample = Array.from({ length: Math.min(pages, 50) }, (_, number) => Buffer.byteLength(renderPage(number, pages, images)))
  const report: SiteReport = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    meanPageBytes: sample.reduce((sum, bytes) => sum + bytes, 0) / sample.length,
    meanImageBytes: pictures.reduce((sum, picture) => sum + picture.length, 0) / Math.max(1, pictures.length),
  }
  sendReport(report).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
