import type { ImageFormat } from '../item.ts'

/** How many bytes of a file `sniff` wants to see. */
export const sniffBytes = 4096

/** What the first bytes of a file are: an image that can be kept, another kind of image, or no image. */
export type Sniffed =
  | { readonly format: ImageFormat }
  | { readonly unsupported: string }
  | { readonly text: true }
  | undefined

type Test = (head: Buffer) => Sniffed

const tests: readonly Test[] = [
  startsWith([0xff, 0xd8, 0xff], { format: 'jpeg' }),
  startsWith([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], { format: 'png' }),
  startsWith('GIF87a', { format: 'gif' }),
  startsWith('GIF89a', { format: 'gif' }),
  (head) => (ascii(head, 0, 4) === 'RIFF' && ascii(head, 8, 12) === 'WEBP' ? { format: 'webp' } : undefined),
  startsWith('II*\0', { format: 'tiff' }),
  startsWith('MM\0*', { format: 'tiff' }),
  startsWith('II+\0', { format: 'tiff' }),
  startsWith('MM\0+', { format: 'tiff' }),
  sniffFileType,
  startsWith([0xff, 0x0a], { unsupported: 'jxl' }),
  startsWith('\0\0\0\x0cJXL ', { unsupported: 'jxl' }),
  startsWith('\0\0\0\x0cjP  ', { unsupported: 'jpeg 2000' }),
  startsWith([0xff, 0x4f, 0xff, 0x51], { unsupported: 'jpeg 2000' }),
  // The four bytes after the size are reserved and zero, which tells a bitmap from a text that begins with BM.
  (head) => (ascii(head, 0, 2) === 'BM' && head.length >= 14 && head.readUInt32LE(6) === 0 ? { unsupported: 'bmp' } : undefined),
  startsWith([0, 0, 1, 0], { unsupported: 'ico' }),
  startsWith([0, 0, 2, 0], { unsupported: 'cur' }),
  startsWith('8BPS', { unsupported: 'psd' }),
  startsWith('%PDF-', { unsupported: 'pdf' }),
  sniffText,
]

/** Tells by magic numbers what a file is, whatever its name or the server says (WHATWG MIME Sniffing §6.1). */
export function sniff(head: Buffer): Sniffed {
  for (const test of tests) {
    const sniffed = test(head)
    if (sniffed !== undefined) return sniffed
  }
  return undefined
}

function startsWith(magic: string | readonly number[], sniffed: Sniffed): Test {
  const bytes = typeof magic === 'string' ? Buffer.from(magic, 'latin1') : Buffer.from(magic)
  return (head) => (head.subarray(0, bytes.length).equals(bytes) ? sniffed : undefined)
}

function ascii(head: Buffer, start: number, end: number): string {
  return head.toString('latin1', start, end)
}

/** AVIF and HEIC are one container; its brands tell which codec is inside (ISO/IEC 14496-12 §4.3). */
function sniffFileType(head: Buffer): Sniffed {
  if (ascii(head, 4, 8) !== 'ftyp') return undefined
  const end = Math.min(head.readUInt32BE(0), head.length)
  const brands = [ascii(head, 8, 12)]
  for (let place = 16; place + 4 <= end; place += 4) brands.push(ascii(head, place, place + 4))
  if (brands.includes('avif') || brands.includes('avis')) return { format: 'avif' }
  if (brands.some((brand) => /^(hei|hev|mif1|msf1)/.test(brand))) return { unsupported: 'heic' }
  return undefined
}

/** Pages and messages that came in the place of an image; SVG among them by its element. */
function sniffText(head: Buffer): Sniffed {
  const utf16 = ascii(head, 0, 2) === '\xff\xfe' || ascii(head, 0, 2) === '\xfe\xff'
  if (!utf16 && head.some((byte) => byte < 0x09 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b))) return undefined
  const text = head.toString('utf8').replaceAll('\0', '')
  return /<svg[\s>]/i.test(text) && !/<html[\s>]/i.test(text) ? { unsupported: 'svg' } : { text: true }
}
