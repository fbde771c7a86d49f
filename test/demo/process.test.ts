import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { spawnSite } from '../../framework/demo/process.ts'
import { startSite } from '../../framework/demo/site.ts'

test('a site in its own process serves, counts, and ends when it is closed', async () => {
  const site = await spawnSite({ port: 0 })
  try {
    const image = `${site.hosts[1]}/thumbs/lakes-01.jpg`
    const response = await fetch(image)
    assert.equal(response.headers.get('content-type'), 'image/jpeg')
    assert.ok((await response.arrayBuffer()).byteLength > 1_000)
    assert.deepEqual(await site.requests(), { [`GET ${image}`]: 1 })
    assert.ok(site.expected.images.some(({ url }) => url === image))
  } finally {
    await site.close()
  }
  assert.equal(site.crashed.aborted, false)
  await assert.rejects(fetch(site.url), /fetch failed/)
  await assert.rejects(site.requests(), /closed/)
})

test('a crash of the process is told', async () => {
  const site = await spawnSite({ port: 0 })
  const crashed = once(site.crashed, 'abort')
  process.kill(site.pid, 'SIGKILL')
  await crashed
  assert.match(String(site.crashed.reason), /process of the demo site has ended \(SIGKILL\)/)
  await assert.rejects(site.requests(), /SIGKILL/)
  await site.close()
})

test('a taken port is told by the process that asked', async () => {
  const first = await startSite({ port: 0 })
  const port = Number(new URL(first.url).port)
  try {
    await assert.rejects(spawnSite({ port }), new RegExp(`127.0.0.1:${port}.*--port`))
  } finally {
    await first.close()
  }
})

test('Ctrl-C leaves the site to the crawler; the end of the crawler is the end of the site', async () => {
  const program = `import { spawnSite } from ${JSON.stringify(new URL('../../framework/demo/process.ts', import.meta.url).href)}
const site = await spawnSite({ port: 0 })
console.log(JSON.stringify({ url: site.url, pid: site.pid }))`
  const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const { url, pid } = JSON.parse(line.toString()) as { url: string; pid: number }
  process.kill(pid, 'SIGINT')
  assert.equal((await fetch(`${url}about/`)).status, 200)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  const ended = once(socket, 'close')
  parent.kill('SIGKILL')
  await ended
  await assert.rejects(fetch(url), /fetch failed/)
})
