import { pipeline, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import { DownloadError } from '../errors.ts'
import { shownUrl } from './failure.ts'

/** How one content coding is undone. */
export interface Coding {
  /** Piece by piece; `first` is the beginning of the encoded bytes. */
  readonly createStream: (first: Buffer) => Transform
  /** At once; throws `ERR_BUFFER_TOO_LARGE` rather than make more than `maxOutputLength` bytes. */
  readonly decode: (bytes: Buffer, options: { readonly maxOutputLength: number; readonly chunkSize: number }) => Buffer
}

/** Pieces of decoded bodies: four times zlib's own, since pages are rarely smaller. */
const chunkSize = 64 * 1024

const gzip: Coding = { createStream: () => zlib.createGunzip({ chunkSize }), decode: zlib.gunzipSync }

const codings: Readonly<Record<string, Coding>> = {
  gzip,
  'x-gzip': gzip,
  br: { createStream: () => zlib.createBrotliDecompress({ chunkSize }), decode: zlib.brotliDecompressSync },
  // RFC 9110 §8.4.1.2 means zlib's format, but many servers send the bare stream.
  deflate: {
    createStream: (first) => (hasZlibHeader(first) ? zlib.createInflate({ chunkSize }) : zlib.createInflateRaw({ chunkSize })),
    decode: (bytes, options) => (hasZlibHeader(bytes) ? zlib.inflateSync(bytes, options) : zlib.inflateRawSync(bytes, options)),
  },
}

/** Codings that exist and that nothing here can undo. Other unknown words, such as `utf-8` or `none`, are no codings. */
const undecodable: ReadonlySet<string> = new Set(
  ['zstd', 'compress', 'x-compress', 'dcb', 'dcz', 'exi', 'aes128gcm', 'pack200-gzip', 'lzma', 'xz', 'bzip2', 'x-bzip2'],
)

const none: readonly Coding[] = []
const maxLayers = 3

/**
 * The codings of a Content-Encoding in the order in which they are undone.
 * @throws DownloadError `bad encoding` for one that can't be undone and for more than three of them.
 */
export function codingsOf(contentEncoding: string | undefined, url: string): readonly Coding[] {
  if (contentEncoding === undefined || contentEncoding === '' || contentEncoding === 'identity') return none
  const names = contentEncoding.toLowerCase().split(',').map((name) => name.trim())
  const unknown = names.find((name) => undecodable.has(name))
  if (unknown !== undefined) throw badEncoding(url, `is encoded as ${unknown}, which can't be undone here`)
  const layers = names.flatMap((name) => (Object.hasOwn(codings, name) ? (codings[name] ?? []) : [])).reverse()
  if (layers.length > maxLayers) throw badEncoding(url, `is encoded ${layers.length} times over; ${maxLayers} are undone`)
  return layers
}

/** A small body as it was before it was encoded. Throws zlib's errors. An empty one stays empty, whatever it is said to be. */
export function decode(bytes: Buffer, layers: readonly Coding[], maxBytes: number): Buffer {
  const options = { maxOutputLength: maxBytes, chunkSize }
  return layers.reduce((inner, coding) => (inner.length === 0 ? inner : coding.decode(inner, options)), bytes)
}

/** The same piece by piece, so that whoever reads it can stop a decompression bomb. */
export function decoded(chunks: AsyncIterable<Buffer>, layers: readonly Coding[]): AsyncIterable<Buffer> {
  return layers.reduce((inner, coding) => through(inner, coding), chunks)
}

async function* through(chunks: AsyncIterable<Buffer>, coding: Coding): AsyncGenerator<Buffer, void, undefined> {
  const iterator = chunks[Symbol.asyncIterator]()
  let first = await iterator.next()
  while (first.done !== true && first.value.length === 0) first = await iterator.next()
  if (first.done === true) return
  const stream = coding.createStream(first.value)
  // A failure of any part destroys the stream with it, so the line below throws it.
  pipeline(resumed(first.value, iterator), stream, () => {})
  yield* stream as AsyncIterable<Buffer>
}

async function* resumed(first: Buffer, iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield first
  yield* { [Symbol.asyncIterator]: () => iterator }
}

/** RFC 1950 §2.2: method 8, and a multiple of 31 together with the next byte. */
function hasZlibHeader(first: Buffer): boolean {
  const [method = 0, flags = 0] = first
  return (method & 0x0f) === 8 && (first.length === 1 || (method * 256 + flags) % 31 === 0)
}

function badEncoding(url: string, text: string): DownloadError {
  return new DownloadError('bad encoding', `${shownUrl(url)} ${text}.`, { transient: false })
}
