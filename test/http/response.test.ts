import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { CrawlError, PageResponse, Request, UrlError } from 'orbweaver'
import { parseSrcset } from '../../framework/http/html.ts'

function page(body: string | Uint8Array, { url = 'http://a.example/dir/page.html', type = 'text/html' } = {}): PageResponse {
  return new PageResponse({ request: new Request(url, { depth: 2 }), status: 200, headers: { 'content-type': type }, body: Buffer.from(body) })
}

interface SrcsetRow {
  readonly id: string
  readonly srcset: string
  readonly expected: readonly { url: string; w?: number; d?: number }[]
  readonly note: string
}

const srcsets = JSON.parse(readFileSync(new URL('../fixtures/srcset.json', import.meta.url), 'utf8')) as SrcsetRow[]

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
    assert.deepEqual(page(Buffer.from('\ufeff<a href="/?q=é">', 'utf16le')).links(), ['http://a.example/?q=%C3%A9'])
    const request = (encoding: string) => new Request('http://a.example/?q=é', { encoding }).url
    assert.deepEqual(['utf-16be', 'UTF-16', 'replacement', 'iso-8859-1'].map(request), [...Array(3).fill('http://a.example/?q=%C3%A9'), 'http://a.example/?q=%E9'])
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

  for (const { id, srcset, expected, note } of srcsets) {
    test(`${id} srcset: ${note}`, () => {
      assert.deepEqual(parseSrcset(srcset), expected.map(({ url, w, d }) => ({ url, size: w ?? d ?? 1 })))
    })
  }

  test('srcset is read as HTML says', () => {
    assert.deepEqual(parseSrcset('a.jpg, b.jpg 2x'), [{ url: 'a.jpg', size: 1 }, { url: 'b.jpg', size: 2 }])
    assert.deepEqual(parseSrcset(' a,b.jpg 100w ,c.jpg?x=1,2 200w'), [{ url: 'a,b.jpg', size: 100 }, { url: 'c.jpg?x=1,2', size: 200 }])
    assert.deepEqual(parseSrcset('a.jpg,'), [{ url: 'a.jpg', size: 1 }])
    assert.deepEqual(parseSrcset('a.jpg (x, y) 2x, b.jpg 1x 2x, c.jpg 200h 100w, d.jpg (1x, e.jpg'), [{ url: 'c.jpg', size: 100 }])
    assert.deepEqual(parseSrcset('a.jpg .5x, b.jpg 1.x, c.jpg 1e1x, d.jpg +1w'), [{ url: 'a.jpg', size: 0.5 }, { url: 'c.jpg', size: 10 }])
  })

  test('a picture’s sources are those of its first img', () => {
    const urls = (html: string) => page(html).images().map(({ url, fallbacks = [] }) => [url, ...fallbacks].map((each) => each.split('/').at(-1)))
    assert.deepEqual(urls('<picture><source srcset="s 9w"><img src=a><img src=b></picture>'), [['s', 'a'], ['b']])
    assert.deepEqual(urls('<picture><source srcset="s 9w"></source><noscript><img src=a></noscript></picture><img src=b>'), [['s', 'a'], ['b']])
    assert.deepEqual(urls('<div><picture><source srcset="s 9w"></div><img src=a>'), [['a']])
    assert.deepEqual(urls('<source srcset="s 9w"><img src=a>'), [['a']])
  })
})

describe('a hostile page', () => {
  const bytesOf = (value: unknown) => JSON.stringify(value).length

  test('has a srcset with nothing but what could make reading it slow', () => {
    const read = (srcset: string) => page(`<img srcset="${srcset}">`).images()
    assert.deepEqual(read('x 1w(, '.repeat(200_000)), [])
    assert.deepEqual(read('a ('.repeat(400_000)), [])
    assert.deepEqual(read(`x ${'(a)'.repeat(400_000)}`), [])
    assert.deepEqual(read(`x${','.repeat(1_000_000)}`).map(({ url }) => url), ['http://a.example/dir/x'])
  })

  test('has more candidates than anyone needs: the first hundred are taken', () => {
    const srcset = Array.from({ length: 10_000 }, (_, n) => `${n} ${n + 1}w`).join(', ')
    const [item] = page(`<picture>${`<source srcset="${srcset}">`.repeat(20)}<img srcset="${srcset}" src="last"></picture>`).images()
    assert.equal(item?.url, 'http://a.example/dir/99')
    assert.equal(item.fallbacks?.length, 99)
    assert.equal(parseSrcset(srcset).length, 100)
  })

  test('has many sources and many images in one picture: they don’t multiply', () => {
    const sources = Array.from({ length: 2_000 }, (_, n) => `<source srcset="s${n}">`).join('')
    const images = Array.from({ length: 2_000 }, (_, n) => `<img src="${n}">`).join('')
    const items = page(`<picture>${sources}${images}</picture>`).images()
    assert.equal(items.length, 2_000)
    assert.equal(items[0]?.fallbacks?.length, 99)
    assert.ok(items.slice(1).every(({ fallbacks }) => fallbacks === undefined))
  })

  test('opens many elements and closes others', () => {
    const closing = '<div>'.repeat(200_000) + '</p>'.repeat(200_000)
    assert.deepEqual(page(`${closing}<a href="x"><img src="y">`).links(), ['http://a.example/dir/x'])
    const svg = '<svg>'.repeat(200_000) + '</title>'.repeat(200_000)
    assert.deepEqual(page(`${svg}<a href="x">`).links(), ['http://a.example/dir/x'])
  })

  test('has a base too long to be one, and links likewise: they are passed over', () => {
    const long = 'x'.repeat(200_000)
    const links = Array.from({ length: 2_000 }, (_, n) => `<a href="${n}">`).join('')
    const found = page(`<base href="/${long}/"><base href="/short/"><a href="${long}"><img src="${long}">${links}`)
    assert.equal(found.links().length, 2_000)
    assert.equal(found.links()[0], 'http://a.example/short/0')
    assert.deepEqual(found.images(), [])
    assert.deepEqual(page(`<a href="${long}"><a href="${'é'.repeat(7_000)}">`).links('a'), [])
  })

  test('has a long base under many links: what they come to is bounded', () => {
    const links = Array.from({ length: 50_000 }, (_, n) => `<a href="${n}"><img src="${n}">`).join('')
    const found = page(`<base href="/${'x'.repeat(7_900)}/">${links}`)
    assert.ok(found.links().length > 1_000)
    assert.ok(bytesOf(found.links()) < 32_000_000)
    assert.ok(bytesOf(found.images()) < 64_000_000)
    assert.deepEqual(found.links(), found.links())
  })

  test('has more links and images than are taken', () => {
    const markup = Array.from({ length: 70_000 }, (_, n) => `<a href="${n}"><img src="${n}">`).join('')
    const links = page(markup).links()
    assert.deepEqual([links.length, links.at(-1)], [50_000, 'http://a.example/dir/49999'])
    assert.equal(page(markup).images().length, 20_000)
    assert.equal(page(markup).links('a').length, 50_000)
    assert.equal(page('<a href="same">'.repeat(70_000) + '<a href="other">').links().length, 2)
  })
})

describe('markup', () => {
  const links = (html: string) => page(html).links().map((url) => url.slice('http://a.example/dir/'.length))

  test('in scripts, styles, titles, text fields and comments is none', () => {
    for (const name of ['script', 'style', 'title', 'textarea', 'TEXTAREA']) {
      assert.deepEqual(links(`<${name}><a href="no"></a><picture></${name} ><a href="yes">`), ['yes'], name)
    }
    assert.deepEqual(links('<!-- <a href="no"> --><![CDATA[ <a href="no"> ]]><a href="yes"><!doctype <a href=no>'), ['yes'])
  })

  test('in noscript is read', () => {
    assert.deepEqual(links('<noscript><a href="yes"></noscript>'), ['yes'])
  })

  test('gives attributes in any case and quoting, the first of two, with entities decoded once', () => {
    assert.deepEqual(links(`<A title=">" HREF='x?a&amp;amp;b&lt;'>`), ['x?a&amp;b%3C'])
    assert.deepEqual(links('<a href=one href=two><a href=3/><a href="" href=4><a data-href=no>'), ['one', '3/', 'page.html'])
    assert.deepEqual(links('<a href="x?a&copy=1&#x41;&notit;&#38;"><a href=unfinished'), ['x?a&copy=1A&notit;&'])
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
