import { pipeline, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { DownloadError } from '../errors.ts'
import { shownUrl } from './failure.ts'

type Decoder = (first: Buffer) => Transform

/** Pieces of decoded bodies: four times zlib's own, since pages are rarely smaller. */
const chunkSize = 64 * 1024

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: () => createGunzip({ chunkSize }),
  'x-gzip': () => createGunzip({ chunkSize }),
  // RFC 9110 §8.4.1.2 means zlib's format, but many servers send the bare stream.
  deflate: (first) => (hasZlibHeader(first) ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize })),
  br: () => createBrotliDecompress({ chunkSize }),
}

/** Codings that exist and that nothing here can undo. Other unknown words, such as `utf-8` or `none`, are no codings. */
const undecodable: ReadonlySet<string> = new Set(['zstd', 'compress', 'x-compress', 'dcb', 'dcz', 'exi', 'aes128gcm', 'pack200-gzip', 'lzma', 'xz', 'bzip2', 'x-bzip2'])

const maxLayers = 3

/**
 * The body as it was before `contentEncoding`, piece by piece, so that whoever reads it can stop a decompression bomb.
 * A body without a byte stays empty, whatever it is said to be.
 * @throws DownloadError `bad encoding` for a coding that can't be undone and for more than three of them.
 */
export function decoded(chunks: AsyncIterable<Buffer>, contentEncoding: string | undefined, url: string): AsyncIterable<Buffer> {
  if (contentEncoding === undefined || contentEncoding === '' || contentEncoding === 'identity') return chunks
  const codings = contentEncoding.toLowerCase().split(',').map((coding) => coding.trim())
  const unknown = codings.find((coding) => undecodable.has(coding))
  if (unknown !== undefined) throw badEncoding(url, `is encoded as ${unknown}, which can't be undone here`)
  const layers = codings.flatMap((coding) => (Object.hasOwn(decoders, coding) ? (decoders[coding] ?? []) : []))
  if (layers.length > maxLayers) throw badEncoding(url, `is encoded ${layers.length} times over; ${maxLayers} are undone`)
  return layers.reduceRight((inner, decoder) => through(inner, decoder), chunks)
}

async function* through(chunks: AsyncIterable<Buffer>, create: Decoder): AsyncGenerator<Buffer, void, undefined> {
  const iterator = chunks[Symbol.asyncIterator]()
  let first = await iterator.next()
  while (first.done !== true && first.value.length === 0) first = await iterator.next()
  if (first.done === true) return
  const decoder = create(first.value)
  // A failure of any part destroys the decoder with it, so the loop below throws it.
  pipeline(resumed(first.value, iterator), decoder, () => {})
  yield* decoder as AsyncIterable<Buffer>
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
