/** How many bytes of a page are looked through for a `<meta charset>` (WHATWG HTML, "prescan a byte stream"). */
const prescanBytes = 1024

export interface DecodedText {
  readonly text: string
  /** WHATWG name of the encoding, in lower case. */
  readonly encoding: string
}

/**
 * Decodes a page: byte order mark, then the Content-Type header, then `<meta>` or the XML declaration, then UTF-8 if the
 * bytes are valid UTF-8, else windows-1252 (WHATWG HTML §13.2.3.2). Unknown labels are passed over.
 */
export function decodeText(bytes: Uint8Array, contentType: string): DecodedText {
  const encoding = bomEncoding(bytes) ?? knownEncoding(charsetOf(contentType)) ?? declaredEncoding(bytes)
  if (encoding !== undefined) return { text: decode(bytes, encoding), encoding }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), encoding: 'utf-8' }
  } catch {
    return { text: decode(bytes, 'windows-1252'), encoding: 'windows-1252' }
  }
}

/** Bytes 80 to 9F in windows-1252 (WHATWG Encoding, index windows-1252). */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

function decode(bytes: Uint8Array, encoding: string): string {
  const text = new TextDecoder(encoding).decode(bytes)
  // Node decodes windows-1252 as latin1, which has control characters in these places.
  if (encoding !== 'windows-1252') return text
  return text.replace(/[\x80-\x9f]/g, (character) => windows1252[character.charCodeAt(0) - 0x80] ?? character)
}

/** The `charset` parameter of a Content-Type header, as written; undefined when there is none. */
function charsetOf(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;]+))/i.exec(contentType)?.slice(1).find((value) => value !== undefined)
}

function bomEncoding(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return undefined
}

function knownEncoding(label: string | undefined): string | undefined {
  if (label === undefined) return undefined
  try {
    return new TextDecoder(label.trim()).encoding
  } catch {
    return undefined
  }
}

function declaredEncoding(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, prescanBytes)).toString('latin1')
  const xml = /^<\?xml[^>]*\sencoding\s*=\s*["']([^"']+)["']/i.exec(head)?.[1]
  const markup = head.replace(/<!--[\s\S]*?(?:-->|$)/g, '')
  for (const [tag] of markup.matchAll(/<meta\s[^>]*>/gi)) {
    const direct = /\scharset\s*=\s*["']?\s*([^\s"'/>]+)/i.exec(tag)?.[1]
    const content = /http-equiv/i.test(tag) ? /content\s*=\s*(?:"([^"]*)"|'([^']*)')/i.exec(tag) : null
    const found = knownEncoding(direct ?? charsetOf(`;${content?.[1] ?? content?.[2] ?? ''}`))
    // A page that could be read as ASCII up to its <meta> isn't in UTF-16, whatever it says (WHATWG HTML §13.2.3.3).
    if (found !== undefined) return found.startsWith('utf-16') ? 'utf-8' : found
  }
  return knownEncoding(xml)
}
