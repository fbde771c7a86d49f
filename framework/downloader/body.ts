import { createHash } from 'node:crypto'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { DownloadError, messageOf, StorageError } from '../errors.ts'
import { decoded } from './decoding.ts'
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

interface Count {
  bytes: number
}

/**
 * Reads a body into memory, decoded.
 * @throws DownloadError `too large` as soon as it is known to pass `maxBytes`, `bad encoding` when it can't be decoded.
 */
export async function readToMemory(incoming: Incoming): Promise<MemoryBody> {
  const wire: Count = { bytes: 0 }
  const chunks: Buffer[] = []
  for await (const chunk of limited(incoming, wire)) chunks.push(chunk)
  const [only] = chunks
  return { body: only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks), wireBytes: wire.bytes }
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
  const hash = createHash('sha256')
  let size = 0
  let waiting: Buffer[] = []
  let waitingBytes = 0
  const file = await written(path, open(path, 'wx'))
  try {
    try {
      for await (const chunk of limited(incoming, wire)) {
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

async function* limited(incoming: Incoming, wire: Count): AsyncGenerator<Buffer, void, undefined> {
  const { url, contentEncoding, contentLength, maxBytes } = incoming
  if (contentLength !== undefined && contentLength > maxBytes) throw tooLarge(url, maxBytes)
  const plain: Count = { bytes: 0 }
  const source = counted(incoming.chunks, incoming, wire)
  const body = decoded(source, contentEncoding, url)
  yield* body === source ? source : counted(body, incoming, plain)
}

async function* counted(chunks: AsyncIterable<Buffer>, { url, maxBytes }: Incoming, count: Count): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) {
    count.bytes += chunk.length
    if (count.bytes > maxBytes) throw tooLarge(url, maxBytes)
    yield chunk
  }
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
    const message = `The temporary file ${path} can't be written: ${messageOf(cause)}. Is the disk full, or the folder of settings.files not writable?`
    throw new StorageError(message, { cause })
  }
}

function tooLarge(url: string, maxBytes: number): DownloadError {
  const message = `${shownUrl(url)} is larger than ${maxBytes} bytes, the limit of pages.maxBytes or images.maxBytes.`
  return new DownloadError('too large', message, { transient: false })
}
