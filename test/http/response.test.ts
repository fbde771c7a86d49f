import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CrawlError, PageResponse, Request, UrlError } from 'orbweaver'
import { parseSrcset } from '../../framework/http/html.ts'

function page(body: string | Uint8Array, { url = 'http://a.example/dir/page.html', type = 'text/html' } = {}): PageResponse {
  return new PageResponse({ request: new Request(url, { depth: 2 }), status: 200, headers: { 'content-type': type }, body: Buffer.from(body) })
}

describe('a page’s links', () => {
  test('are absolute, each once, in order, and only http(s)', () => {
    const links = page('<a href="b">x</a><A HREF=" /c?x=1&amp;y=2 ">x</A><a href="b">again</a><a href="mailto:a@b.c">m</a><a href="java\nscript:alert(1)">j</a><a>none</a><area href=//cdn.example/z>').links()
    assert.deepEqual(links, ['http://a.example/dir/b', 'http://a.example/c?x=1&y=2', 'http://cdn.example/z'])
  })

  test('are relative to the first usable base', () => {
    assert.deepEqual(page('<base href="/x/"><base href="/y/"><a href="b">').links(), ['http://a.example/x/b'])
    assert.deepEqual(page('<base href="javascript:alert(1)"><a href="b">').links(), ['http://a.example/dir/b'])
  })

  test('are the same by selector as by the streaming pass', () => {
    const html = '<div><a class=n href="1">1</a><p><a href="2">2</a></div><a class=n href="/3">3'
    assert.deepEqual(page(html).links('a'), page(html).links())
    assert.deepEqual(page(html).links('a.n'), ['http://a.example/dir/1', 'http://a.example/3'])
  })

  test('send queries in the page’s own encoding', () => {
    const bytes = Buffer.from('<meta charset=iso-8859-1><a href="/?q=\xe9">x</a>', 'latin1')
    assert.deepEqual(page(bytes).links(), ['http://a.example/?q=%E9'])
  })

  test('cost no stack however deep the markup is', () => {
    const html = `${'<div>'.repeat(60_000)}<a href="deep">x</a>`
    assert.deepEqual(page(html).links(), ['http://a.example/dir/deep'])
  })
})

describe('a page’s images', () => {
  test('have the best candidate first and the others as fallbacks', () => {
    const html = `
      <img src="s.jpg" srcset="m.jpg 400w, l.jpg 1200w" alt="Sea &amp; sky">
      <img src="data:image/gif;base64,R0lGOD" data-src="lazy.jpg">
      <picture><source srcset="p.avif 900w"><img src="p.jpg"></picture>
      <img src="s.jpg"><img alt="no source">`
    const items = page(html).images({ album: 'x' })
    assert.deepEqual(items.map(({ url, fallbacks, alt }) => [url, fallbacks, alt]), [
      ['http://a.example/dir/l.jpg', ['http://a.example/dir/m.jpg', 'http://a.example/dir/s.jpg'], 'Sea & sky'],
      ['http://a.example/dir/lazy.jpg', undefined, undefined],
      ['http://a.example/dir/p.avif', ['http://a.example/dir/p.jpg'], undefined],
      ['http://a.example/dir/s.jpg', undefined, undefined],
    ])
    assert.deepEqual(items[0]?.data, { album: 'x' })
    assert.equal(items[0]?.pageUrl, 'http://a.example/dir/page.html')
  })

  test('srcset is read as HTML says', () => {
    assert.deepEqual(parseSrcset('a.jpg, b.jpg 2x'), [{ url: 'a.jpg', size: 1 }, { url: 'b.jpg', size: 2 }])
    assert.deepEqual(parseSrcset(' a,b.jpg 100w ,c.jpg?x=1,2 200w'), [{ url: 'a,b.jpg', size: 100 }, { url: 'c.jpg?x=1,2', size: 200 }])
    assert.deepEqual(parseSrcset('a.jpg,'), [{ url: 'a.jpg', size: 1 }])
    assert.deepEqual(parseSrcset(''), [])
  })
})

describe('a page', () => {
  test('gives requests one level deeper, with its URL as referer', () => {
    const request = page('').follow('next', async function* parseNext() {}, { priority: 3 })
    assert.equal(request.url, 'http://a.example/dir/next')
    assert.deepEqual([request.depth, request.referer, request.callback, request.priority], [3, 'http://a.example/dir/page.html', 'parseNext', 3])
    assert.throws(() => page('').follow('mailto:a@b.c'), UrlError)
  })

  test('that is no JSON says so with its URL', () => {
    assert.deepEqual(page('{"a":[1]}').json(), { a: [1] })
    assert.throws(() => page('<html>').json(), (error: Error) => error instanceof CrawlError && error.message.includes('http://a.example/dir/page.html'))
  })
})

describe('a page’s charset', () => {
  const text = (bytes: Uint8Array, type = 'text/html') => page(bytes, { type }).text
  const latin1 = (value: string) => Buffer.from(value, 'latin1')

  test('byte order mark before header', () => {
    assert.equal(text(Buffer.from('\ufeffé'), 'text/html; charset=iso-8859-1'), 'é')
    assert.equal(text(Buffer.from('\ufeffé', 'utf16le'), 'text/html; charset=utf-8'), 'é')
  })

  test('header before meta, in any quoting', () => {
    assert.equal(text(latin1('<meta charset=utf-8>\xe9'), 'text/html; Charset="ISO-8859-1"').at(-1), 'é')
  })

  test('meta, in both forms', () => {
    assert.equal(text(Buffer.concat([Buffer.from('<meta charset="gbk">'), Buffer.from([0xc4, 0xe3])])).at(-1), '你')
    assert.equal(text(Buffer.concat([Buffer.from(`<meta content='text/html; charset=Shift_JIS' http-equiv=Content-Type>`), Buffer.from([0x82, 0xa0])])).at(-1), 'あ')
  })

  test('a comment is no declaration, and unknown labels are passed over', () => {
    assert.equal(text(Buffer.from('<!-- <meta charset=gbk> -->é')).at(-1), 'é')
    assert.equal(text(Buffer.from('é'), 'text/html; charset=rot13'), 'é')
  })

  test('undeclared: UTF-8 when it is, else windows-1252', () => {
    assert.equal(text(Buffer.from('é')), 'é')
    assert.equal(text(latin1('caf\xe9 \x93x\x94')), 'café “x”')
  })
})
