import type { ImageFormat } from '../item.ts'

/** The last chunk of every PNG: no data, its name, its checksum (PNG, W3C, §11.2.5). */
const pngEnd = Buffer.from([0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82])

const topLevelBoxes: ReadonlySet<string> = new Set(['ftyp', 'meta', 'mdat', 'moov', 'moof', 'free', 'skip', 'uuid'])

/**
 * True when the bytes end before the structure of their format does. What comes after that end is ignored, as browsers do.
 * Decoders notice most cuts, but not always the missing last rows of a JPEG that they read at a smaller scale, the later
 * frames of a GIF, or a PNG's last chunk.
 */
export function isCut(format: ImageFormat, bytes: Buffer): boolean {
  if (format === 'jpeg') return isJpegCut(bytes)
  if (format === 'png') return bytes.lastIndexOf(pngEnd) === -1
  if (format === 'gif') return isGifCut(bytes)
  if (format === 'webp') return bytes.length < 12 || bytes.readUInt32LE(4) + 8 > bytes.length
  if (format === 'avif') return areBoxesCut(bytes)
  return false
}

/** Walks segments and scans to the end marker: one in the thumbnail of an EXIF block doesn't count (ITU-T T.81 Annex B). */
function isJpegCut(bytes: Buffer): boolean {
  let place = 2
  for (;;) {
    place = bytes.indexOf(0xff, place)
    if (place === -1 || place + 1 >= bytes.length) return true
    const marker = bytes[place + 1]!
    if (marker === 0xd9) return false
    const hasNoLength = marker === 0 || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)
    if (marker === 0xff) place += 1
    else if (hasNoLength) place += 2
    else if (place + 3 >= bytes.length) return true
    else place += 2 + bytes.readUInt16BE(place + 2)
  }
}

/** Walks blocks to the trailer (GIF89a §27). */
function isGifCut(bytes: Buffer): boolean {
  let place = 13 + colorTableBytes(bytes[10])
  while (place < bytes.length) {
    const block = bytes[place]
    if (block === 0x3b) return false
    if (block === 0x21) place += 2
    else if (block === 0x2c) place += 11 + colorTableBytes(bytes[place + 9])
    // Decoders pass over what is no block.
    else {
      place += 1
      continue
    }
    for (let length = bytes[place]; length !== 0; length = bytes[place]) {
      if (length === undefined) return true
      place += 1 + length
    }
    place += 1
  }
  return true
}

function colorTableBytes(packed = 0): number {
  return (packed & 0x80) === 0 ? 0 : 3 * 2 ** ((packed & 7) + 1)
}

/** Every top-level box must be whole (ISO/IEC 14496-12 §4.2); a size of 0 means to the end of the file. */
function areBoxesCut(bytes: Buffer): boolean {
  let place = 0
  while (place + 8 <= bytes.length) {
    const size = bytes.readUInt32BE(place)
    if (size === 0) return false
    if (size === 1 && place + 16 > bytes.length) return true
    const boxSize = size === 1 ? Number(bytes.readBigUInt64BE(place + 8)) : size
    // What isn't a box comes after the last one.
    if (boxSize < 8 || !topLevelBoxes.has(bytes.toString('latin1', place + 4, place + 8))) return false
    if (place + boxSize > bytes.length) return true
    place += boxSize
  }
  return false
}
