import { canonicalizeUrl, parseUrl } from '../framework/http/url.ts'
import { parseSrcset, scanMarkup } from '../framework/http/html.ts'
import { decodeText } from '../framework/http/charset.ts'
const t = (name: string, f: () => unknown) => { const a = performance.now(); let r; try { r = f() } catch (e) { r = 'ERR ' + (e as Error).message.slice(0,80) } ; const d = performance.now()-a; console.log(name, d.toFixed(0)+'ms', typeof r === 'string' ? r.slice(0,60) : Array.isArray(r) ? r.length : '') }
const only = process.argv[2]
const N = Number(process.argv[3] ?? 100_000)
const cases: Record<string, () => unknown> = {
  plainSlashes: () => canonicalizeUrl('http://a.example/' + '/'.repeat(N) + '?'),
  plainPath: () => canonicalizeUrl('http://a.example/' + 'a'.repeat(N) + '?'),
  plainHost: () => canonicalizeUrl('http://' + 'a'.repeat(N) + '!'),
  plainHost2: () => canonicalizeUrl('http://' + 'a-'.repeat(N) + '!'),
  pathSemis: () => canonicalizeUrl('http://a/' + ';'.repeat(N), { ignoreParameters: ['x'] }),
  query: () => canonicalizeUrl('http://a/?' + 'a&'.repeat(N)),
  pct: () => canonicalizeUrl('http://a/' + '%25'.repeat(N)),
  src_spaces: () => parseSrcset(' '.repeat(N)).length + '',
  src_commas: () => parseSrcset(','.repeat(N)).length + '',
  src_commaspace: () => parseSrcset(', '.repeat(N)).length + '',
  src_parens: () => parseSrcset('a ' + '('.repeat(N)).length + '',
  src_parens2: () => parseSrcset('a ' + '()'.repeat(N)).length + '',
  src_parens3: () => parseSrcset(('a (').repeat(N)).length + '',
  src_urlcomma: () => parseSrcset('a' + ','.repeat(N)+'b').length + '',
  src_urlcomma2: () => parseSrcset('a' + ',b'.repeat(N)+',').length + '',
  src_urlcomma3: () => parseSrcset((',a,,,, ').repeat(N)).length + '',
  src_aw: () => parseSrcset('a, '.repeat(N)).length + '',
  src_desc: () => parseSrcset('a ' + '1w '.repeat(N)).length + '',
  src_unclosed: () => parseSrcset('a ' + '(x '.repeat(N) + ')').length + '',
  src_b: () => parseSrcset('x' + ' '.repeat(N) + '(').length + '',
  src_c: () => parseSrcset('x ' + ' (a'.repeat(N)).length + '',
  src_d: () => parseSrcset('x 1w(, '.repeat(N)).length + '',
  scan_imgs: () => scanMarkup('<img src=a>'.repeat(N)).images.length + '',
  scan_srcset: () => scanMarkup('<img srcset="' + Array.from({length:N},(_, i)=>`u${i} ${i}w`).join(',') + '">').images[0]?.candidates.length + '',
  scan_picture: () => scanMarkup('<picture>' + '<source srcset="a 1w, b 2w">'.repeat(1000) + '<img src=x>'.repeat(N)).images.length + '',
  scan_attrs: () => scanMarkup('<img ' + Array.from({length:N},(_, i)=>`a${i}=1`).join(' ') + '>').images.length + '',
  scan_nest: () => scanMarkup('<div>'.repeat(N)).images.length + '',
  scan_nest_close: () => scanMarkup('<div>'.repeat(N)+'</p>'.repeat(N)).images.length + '',
  scan_nest_close2: () => scanMarkup('<div>'.repeat(N)+'</span>'.repeat(N)).images.length + '',
  scan_trim: () => scanMarkup('<img src="' + ' '.repeat(N) + 'a">').images.length + '',
  scan_script: () => scanMarkup('<script><'.repeat(N)).images.length + '',
  charset: () => decodeText(Buffer.from('x'), ';charset=' + ' '.repeat(N)).encoding,
  charset2: () => decodeText(Buffer.from('<meta '.repeat(200)), ';'.repeat(N)).encoding,
  charset3: () => decodeText(Buffer.from('<?xml ' + ' encoding'.repeat(120)), '').encoding,
}
for (const [k, f] of Object.entries(cases)) if (!only || only === 'all' || k === only) t(k, f)
