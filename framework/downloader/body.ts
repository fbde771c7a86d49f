import { createHash } from 'node:crypto'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { DownloadError, messageOf, StorageError } from '../errors.ts'
import { codingsOf, decode, decoded, type Coding } from './decoding.ts'
import { shownUrl } from './failure.ts'

/** A body on its way in. */
export interface Incoming {
  /** As it comes over the wire. */
  readonly chunks: AsyncIterable<Buffer>
  readonly url: string
  readonly contentEncoding: string | undefined
  /** Undefined when the server doesn't say, or when there is no body to come. */
  readonly contentLength: number | undefined
  /** Bytes, held against the body as it comes and against what it is decoded to. */
  readonly maxBytes: number
}

export interface MemoryBody {
  readonly body: Buffer
  readonly wireBytes: number
}

export interface FileBody {
  /** Bytes, decoded. */
  readonly size: number
  /** SHA-256 of the decoded bytes, in 64 hexadecimal digits. */
  readonly sha256: string
  readonly wireBytes: number
}

type Chunks = AsyncGenerator<Buffer, void, undefined>

interface Count {
  bytes: number
}

/** Encoded bodies up to so many bytes are decoded at once: zlib's streams cost four times as much for a page. */
const decodeAtOnce = 128 * 1024

/**
 * Reads a body into memory, decoded.
 * @throws DownloadError `too large` as soon as it is known to pass `maxBytes`, `bad encoding` when it can't be decoded.
 */
export async function readToMemory(incoming: Incoming): Promise<MemoryBody> {
  const wire: Count = { bytes: 0 }
  const layers = codingsOf(incoming.contentEncoding, incoming.url)
  const source = limited(incoming, wire)
  const start: Buffer[] = []
  while (layers.length === 0 || wire.bytes < decodeAtOnce) {
    const { done, value } = await source.next()
    if (done === true) return { body: decodedAtOnce(joined(start), layers, incoming), wireBytes: wire.bytes }
    start.push(value)
  }
  const chunks: Buffer[] = []
  for await (const chunk of counted(decoded(following(start, source), layers), incoming, { bytes: 0 })) chunks.push(chunk)
  return { body: joined(chunks), wireBytes: wire.bytes }
}

/** Bytes gathered before they are written, so that small files are written at once. */
const writeAt = 256 * 1024

/**
 * Reads a body into a new file at `path`, decoded, and hashes it on the way. Nothing is flushed to the disk: keeping the
 * file does that. When anything fails, the file is removed.
 * @throws DownloadError as `readToMemory` does; StorageError when the file can't be written.
 */
export async function readToFile(incoming: Incoming, path: string): Promise<FileBody> {
  const wire: Count = { bytes: 0 }
  const layers = codingsOf(incoming.contentEncoding, incoming.url)
  const source = limited(incoming, wire)
  const plain = layers.length === 0 ? source : counted(decoded(source, layers), incoming, { bytes: 0 })
  const hash = createHash('sha256')
  let size = 0
  let waiting: Buffer[] = []
  let waitingBytes = 0
  const file = await written(path, open(path, 'wx'))
  try {
    try {
      for await (const chunk of plain) {
        hash.update(chunk)
        size += chunk.length
        waiting.push(chunk)
        waitingBytes += chunk.length
        if (waitingBytes < writeAt) continue
        await append(file, path, waiting)
        waiting = []
        waitingBytes = 0
      }
      if (waiting.length > 0) await append(file, path, waiting)
    } finally {
      await written(path, file.close())
    }
  } catch (error) {
    await written(path, rm(path, { force: true }))
    throw error
  }
  return { size, sha256: hash.digest('hex'), wireBytes: wire.bytes }
}

/** The first bytes of a body that nobody needs whole, as they came over the wire. A longer one is left unread. */
export async function readStart(chunks: AsyncIterable<Buffer>, maxBytes: number): Promise<MemoryBody> {
  const start: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    start.push(chunk)
    bytes += chunk.length
    if (bytes >= maxBytes) break
  }
  return { body: Buffer.concat(start).subarray(0, maxBytes), wireBytes: bytes }
}

/** The body as it comes, held against the cap before the first byte and at every further one. */
function limited(incoming: Incoming, wire: Count): Chunks {
  const { chunks, url, contentLength, maxBytes } = incoming
  if (contentLength !== undefined && contentLength > maxBytes) throw tooLarge(url, maxBytes)
  return counted(chunks, incoming, wire)
}

async function* counted(chunks: AsyncIterable<Buffer>, { url, maxBytes }: Incoming, count: Count): Chunks {
  for await (const chunk of chunks) {
    count.bytes += chunk.length
    if (count.bytes > maxBytes) throw tooLarge(url, maxBytes)
    yield chunk
  }
}

async function* following(start: readonly Buffer[], rest: AsyncIterable<Buffer>): Chunks {
  yield* start
  yield* rest
}

function decodedAtOnce(bytes: Buffer, layers: readonly Coding[], { url, maxBytes }: Incoming): Buffer {
  try {
    return decode(bytes, layers, maxBytes)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(url, maxBytes) : error
  }
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks)
}

async function append(file: FileHandle, path: string, chunks: Buffer[]): Promise<void> {
  let rest = chunks
  while (rest.length > 0) {
    const { bytesWritten } = await written(path, file.writev(rest))
    rest = after(rest, bytesWritten)
  }
}

/** What is left of `chunks` when the first `bytes` are gone: a nearly full disk takes less than it was given. */
function after(chunks: readonly Buffer[], bytes: number): Buffer[] {
  let skip = bytes
  return chunks.flatMap((chunk) => {
    const taken = Math.min(skip, chunk.length)
    skip -= taken
    return taken === chunk.length ? [] : [chunk.subarray(taken)]
  })
}

async function written<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    const advice = 'Look whether the disk is full and whether its folder may be written to.'
    throw new StorageError(`The temporary file ${path} can't be written: ${messageOf(cause)}. ${advice}`, { cause })
  }
}

function tooLarge(url: string, maxBytes: number): DownloadError {
  const message = `${shownUrl(url)} is larger than ${maxBytes} bytes, the limit of pages.maxBytes or images.maxBytes.`
  return new DownloadError('too large', message, { transient: false })
}
