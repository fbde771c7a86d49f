/** A process of the soak: a site of any number of pages, made when they are asked for, on a free loopback port. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { receiveInput, sendReport } from './child.ts'
import { renderSoakPage, soakNumber } from './soak-html.ts'

export interface SoakSiteInput {
  readonly pages: number
}

export interface SoakSiteReport {
  /** For example `http://127.0.0.1:40123`. */
  readonly origin: string
}

const { pages } = receiveInput<SoakSiteInput>()

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const number = soakNumber(request.url ?? '/')
  if (number < pages) {
    const body = Buffer.from(renderSoakPage(number, pages), 'latin1')
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': body.length }).end(body)
  } else response.writeHead(404, { 'content-length': 0 }).end()
})

server.listen(0, '127.0.0.1', () => {
  const report: SoakSiteReport = { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  sendReport(report).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
