import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalizeUrl } from 'orbweaver'

const piece = fc.constantFrom('a', 'B', '7', '.', '..', '-', '_', '~', '%41', '%2f', '%', '+', ';', '&', '=', '@', '|', '[', ' ', 'é', '^', '\\', '//', '?', '#', ':')
const host = fc.constantFrom('a.example', 'A.example', '127.0.0.1', '010.0.0.1', '127.1', 'a.example:80', 'a.example:443', 'a.example:8080', 'xn--bcher-kva.example', 'a1.example', 'a-.b')
const url = fc.tuple(fc.constantFrom('http', 'https', 'HTTP'), host, fc.array(piece, { maxLength: 8 })).map(([scheme, name, path]) => `${scheme}://${name}/${path.join('')}`)

test('a URL that looks canonical is: the short way gives what the long way gives', () => {
  fc.assert(
    fc.property(url, (text) => {
      if (URL.canParse(text)) assert.equal(canonicalizeUrl(text), canonicalizeUrl(new URL(text)))
    }),
    { numRuns: 5_000 },
  )
})

test('a canonical URL is its own canonical URL', () => {
  fc.assert(
    fc.property(url, (text) => {
      if (URL.canParse(text)) assert.equal(canonicalizeUrl(canonicalizeUrl(text)), canonicalizeUrl(text))
    }),
    { numRuns: 5_000 },
  )
})
