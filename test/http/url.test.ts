import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { canonicalizeUrl, Request, UrlError, type RequestOptions } from 'orbweaver'

interface CanonicalRow {
  readonly id: string
  readonly input: { url?: string; url_base64?: string; encoding?: string; keep_fragments?: boolean; keep_blank_values?: boolean }
  readonly expected: string
  /** What a browser would fetch, where that differs from what Scrapy does; null: refused. */
  readonly ours?: string | null
  readonly note?: string
}

interface RequestRow {
  readonly url: string
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string
  readonly body_base64?: string
  readonly encoding?: string
  readonly priority?: number
  readonly meta?: Record<string, unknown>
}

interface PairRow {
  readonly id: string
  readonly input: { a: RequestRow; b: RequestRow; options: { include_headers?: string[]; keep_fragments?: boolean } }
  readonly expected: { equal: boolean }
  readonly ours?: boolean | null
  readonly note?: string
}

const read = <T>(name: string): T => JSON.parse(readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8')) as T

describe('canonical URLs', () => {
  for (const { id, input, expected, ours, note } of read<CanonicalRow[]>('canonicalize_url.json')) {
    test(`${id} ${note ?? ''}`, () => {
      const url = input.url ?? Buffer.from(input.url_base64 ?? '', 'base64').toString('utf8')
      const canonicalize = () =>
        canonicalizeUrl(url, {
          ...(input.encoding === undefined ? {} : { encoding: input.encoding }),
          ...(input.keep_fragments === undefined ? {} : { keepFragments: input.keep_fragments }),
          ...(input.keep_blank_values === undefined ? {} : { keepBlankValues: input.keep_blank_values }),
        })
      if (ours === null) assert.throws(canonicalize, UrlError)
      else assert.equal(canonicalize(), ours ?? expected)
    })
  }

  test('a canonical URL is its own canonical URL', () => {
    for (const { expected, ours } of read<CanonicalRow[]>('canonicalize_url.json')) {
      const url = ours === undefined ? expected : ours
      if (url !== null && !url.includes('#')) assert.equal(canonicalizeUrl(url), url)
    }
  })

  test('session ids are left off when they are named', () => {
    const options = { ignoreParameters: ['jsessionid', 'PHPSESSID', 'utm_*'] }
    assert.equal(canonicalizeUrl('http://a.example/x;jsessionid=1F/y?phpsessid=2&b=1&utm_source=z', options), 'http://a.example/x/y?b=1')
    assert.equal(canonicalizeUrl('http://a.example/?sid=1', options), 'http://a.example/?sid=1')
  })
})

describe('fingerprints', () => {
  const build = (row: RequestRow, options: PairRow['input']['options']): Request => {
    const headers = Object.entries(row.headers ?? {}).map(([name, value]) => [name, String(value)])
    const body = row.body_base64 === undefined ? row.body : Buffer.from(row.body_base64, 'base64')
    const given: RequestOptions = {
      headers: Object.fromEntries(headers) as Record<string, string>,
      fingerprintHeaders: options.include_headers ?? [],
      keepFragment: options.keep_fragments ?? false,
      ...(row.method === undefined ? {} : { method: row.method }),
      ...(row.priority === undefined ? {} : { priority: row.priority }),
      ...(row.encoding === undefined ? {} : { encoding: row.encoding }),
      ...(body === undefined ? {} : { body }),
    }
    return new Request(row.url, given)
  }

  for (const { id, input, expected, ours, note } of read<PairRow[]>('fingerprint_equal.json')) {
    test(`${id} ${note ?? ''}`, () => {
      const isEqual = () => build(input.a, input.options).fingerprint === build(input.b, input.options).fingerprint
      if (ours === null) assert.throws(isEqual, UrlError)
      else assert.equal(isEqual(), ours ?? expected.equal)
    })
  }

  test('a request survives being stored', () => {
    const request = new Request('http://a.example/%C3%A9?b=2&a=1#f', { method: 'post', body: Buffer.from([0, 255]), headers: { 'x-a': '1' }, meta: { page: 2 }, priority: 7, depth: 3, referer: 'http://a.example/' })
    const copy = Request.fromJSON(JSON.parse(JSON.stringify(request)))
    assert.equal(copy.fingerprint, request.fingerprint)
    assert.deepEqual(copy.toJSON(), request.toJSON())
    assert.equal(copy.url, 'http://a.example/%C3%A9?b=2&a=1#f')
  })

  test('a request moved to another host moves to that host’s slot', () => {
    const request = new Request('http://a.example/x')
    assert.equal(request.with({ url: 'http://b.example/y' }).slot, 'b.example')
    assert.equal(new Request('http://a.example/x', { slot: 'own' }).with({ url: 'http://b.example/y' }).slot, 'own')
  })
})
