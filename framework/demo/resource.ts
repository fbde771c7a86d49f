import type { Edition, Picture } from './pictures.ts'

/** gallery: pages. cdn: nearly all images. slow: lets wait. busy: refuses at first. */
export const hosts = ['gallery', 'cdn', 'slow', 'busy'] as const
export type Host = (typeof hosts)[number]

/** Where each host listens, such as `http://127.0.0.2:8080`. */
export type Origins = Readonly<Record<Host, string>>

export type Charset = 'utf-8' | 'windows-1252'

/** How a page is compressed for those who accept it. */
export type ContentEncoding = 'gzip' | 'br'

export type Body =
  | { readonly kind: 'html'; readonly html: string; readonly charset: Charset; readonly encoding?: ContentEncoding }
  /** `share` is the part of the file that is sent, 0 to 1; default all of it. */
  | { readonly kind: 'picture'; readonly picture: Picture; readonly edition: Edition; readonly share?: number }
  | { readonly kind: 'text'; readonly text: string; readonly contentType: string }
  | { readonly kind: 'bytes'; readonly base64: string; readonly contentType: string }

/** What the first requests get instead of the answer. */
interface Refusal {
  /** Refusals with one name are counted together. */
  readonly name: string
  readonly times: number
  readonly status: 429 | 500
  readonly retryAfterSeconds?: number
}

/** What a URL of the demo site answers. */
export interface Resource {
  readonly url: string
  readonly status: number
  readonly body: Body
  /** Of a redirect: as it is written in the header. */
  readonly location?: string
  /** Milliseconds before the first byte. */
  readonly delayMs?: number
  readonly refusal?: Refusal
}

/** One key for all spellings of a URL on this site. */
export function resourceKey(url: string | URL): string {
  const { origin, pathname, searchParams } = new URL(url)
  searchParams.sort()
  const query = searchParams.size === 0 ? '' : `?${searchParams}`
  return `${origin}${decodePath(pathname)}${query}`
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
