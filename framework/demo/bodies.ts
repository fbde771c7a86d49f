import { setImmediate } from 'node:timers/promises'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import iconv from 'iconv-lite'
import { LRUCache } from 'lru-cache'
import { Limit } from '../async/limit.ts'
import type { Body, ContentEncoding } from './resource.ts'

/** All files of the site have room in it. */
const maxCachedBytes = 64 * 2 ** 20

export interface RenderedBody {
  readonly bytes: Buffer
  readonly contentType: string
  readonly contentEncoding?: ContentEncoding
}

/** Makes what is sent. Pictures are made when somebody asks for them, one at a time, and kept. */
export class Bodies {
  readonly #limit = new Limit(1)
  readonly #pictures = new LRUCache<string, Buffer, Body & { kind: 'picture' }>({
    maxSize: maxCachedBytes,
    sizeCalculation: (bytes) => bytes.length,
    fetchMethod: (_key, _stale, { context }) => this.#limit.run(() => this.#paint(context)),
  })

  /** @param acceptEncoding the header of the request: pages are compressed only for those who can read it. */
  async render(body: Body, acceptEncoding: string): Promise<RenderedBody> {
    switch (body.kind) {
      case 'html': {
        const contentType = body.charset === 'utf-8' ? 'text/html; charset=utf-8' : 'text/html'
        const bytes = iconv.encode(body.html, body.charset)
        if (body.encoding === undefined || !acceptEncoding.includes(body.encoding)) return { bytes, contentType }
        return { bytes: compress(bytes, body.encoding), contentType, contentEncoding: body.encoding }
      }
      case 'picture': {
        const key = JSON.stringify([body.picture, body.edition])
        const bytes = await this.#pictures.forceFetch(key, { context: body })
        const sent = bytes.subarray(0, Math.floor(bytes.length * (body.share ?? 1)))
        return { bytes: sent, contentType: `image/${body.edition.format}` }
      }
      case 'text':
        return { bytes: Buffer.from(body.text), contentType: body.contentType }
      case 'bytes':
        return { bytes: Buffer.from(body.base64, 'base64'), contentType: body.contentType }
    }
  }

  async #paint({ picture, edition }: Body & { kind: 'picture' }): Promise<Buffer> {
    const { renderPicture } = await import('./pictures.ts')
    // Painting blocks: requests for pages that came meanwhile are answered between two pictures.
    await setImmediate()
    return renderPicture(picture, edition)
  }
}

function compress(bytes: Buffer, encoding: ContentEncoding): Buffer {
  if (encoding === 'gzip') return gzipSync(bytes)
  return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
}
