import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { serve } from '../cli/site.ts'
import type { SoakInput, SoakLook } from './soak/child.ts'

const pages = 20_000
const every = 1_000
/** Compiled code, statements and caches of the first pages are no growth. */
const warmUp = 6_000
/** Pages that wait, all the time: each page leads to one that is so much further. */
const backlog = 500
/** What the crawl may go on holding of a page. The dupe filter takes 13 to 20 bytes; one promise that isn't let go takes 70, one request 800. */
const maxBytesPerPage = 50

/** Each page leads to one new page and to some that are known, so that the queue keeps its length. */
function linksOf(number: number): number[] {
  if (number === 0) return Array.from({ length: backlog }, (_, index) => index + 1)
  return [number + backlog, number - 1, number >> 1, 0].filter((target) => target < pages)
}

async function soak(): Promise<SoakLook[]> {
  const site = await serve(({ url = '/' }, response) => {
    const number = url === '/' ? 0 : Number(/^\/(\d+)$/.exec(url)?.[1] ?? Number.NaN)
    if (!(number < pages)) return void response.writeHead(404).end()
    const links = linksOf(number).map((target) => `<a href="/${target === 0 ? '' : target}">${target}</a>`)
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html><title>${number}</title>${links.join('')}`)
  })
  const dataDir = mkdtempSync(join(tmpdir(), 'orbweaver-soak-'))
  try {
    const input: SoakInput = { site: site.url, dataDir, every }
    const child = fork(join(import.meta.dirname, 'soak/child.ts'), [JSON.stringify(input)], {
      execArgv: ['--import', import.meta.resolve('tsx'), '--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    const looks: SoakLook[] = []
    child.on('message', (look) => void looks.push(look as SoakLook))
    const [[code], errors] = (await Promise.all([once(child, 'close'), text(child.stderr!)])) as [[number | null], string]
    assert.equal(code, 0, errors)
    assert.equal(looks.length, pages / every)
    return looks
  } finally {
    await site.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** By how much a figure grows with each page, by the median of the slopes between any two looks (Theil and Sen): one odd look doesn't move it. */
function slopeOf(looks: readonly SoakLook[], figure: (look: SoakLook) => number): number {
  const slopes = looks.flatMap((a, index) => looks.slice(index + 1).map((b) => (figure(b) - figure(a)) / (b.pages - a.pages)))
  return slopes.sort((a, b) => a - b)[slopes.length >> 1] ?? Number.NaN
}

test('the memory that a crawl holds does not grow with the pages it has read', async () => {
  const looks = (await soak()).filter((look) => look.pages > warmUp && look.pages < pages - backlog)
  const table = looks.map((look) => `${look.pages} pages: heap ${look.heapBytes}, external ${look.externalBytes}, ${look.pending} pending`).join('\n')
  const heap = slopeOf(looks, (look) => look.heapBytes)
  const external = slopeOf(looks, (look) => look.externalBytes)
  assert.ok(heap + external < maxBytesPerPage, `${heap.toFixed(0)} bytes of heap and ${external.toFixed(0)} of buffers a page, the bound is ${maxBytesPerPage}\n${table}`)
})
