import type { ToolImage } from './tool.js'

/** What the strictest provider takes of one image, as raw bytes. */
export const imageBytes = 3.75 * 1024 * 1024
/** Pixels of a side that providers take. */
export const imageSide = 8000
/** Bytes of a file's beginning that tell its kind. */
export const beginning = 8192

type ImageType = ToolImage['content_type']

const startsWith = (bytes: Buffer, signature: string, at = 0): boolean =>
  bytes.subarray(at, at + signature.length).toString('latin1') === signature

/** The type of an image that models can see, by its first bytes, whatever its name says. */
export const imageTypeOf = (bytes: Buffer): ImageType | undefined => {
  if (startsWith(bytes, '\x89PNG\r\n\x1a\n')) return 'image/png'
  if (startsWith(bytes, '\xff\xd8\xff')) return 'image/jpeg'
  if (startsWith(bytes, 'GIF87a') || startsWith(bytes, 'GIF89a')) return 'image/gif'
  return startsWith(bytes, 'RIFF') && startsWith(bytes, 'WEBP', 8) ? 'image/webp' : undefined
}

interface Dimensions {
  readonly width: number
  readonly height: number
}

/** A frame's header holds them; before it stand segments that each say their length. */
const ofJpeg = (bytes: Buffer): Dimensions | undefined => {
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1]!
    // Any number of these may stand before a marker, as filling.
    if (marker === 0xff) {
      at += 1
      continue
    }
    const frame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (frame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

const ofWebp = (bytes: Buffer): Dimensions | undefined => {
  if (startsWith(bytes, 'VP8X', 12)) return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (startsWith(bytes, 'VP8 ', 12))
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (!startsWith(bytes, 'VP8L', 12)) return undefined
  const packed = bytes.readUInt32LE(21)
  return { width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1 }
}

/** Width and height in pixels; undefined when the file is cut off or says none. */
export const dimensionsOf = (type: ImageType, bytes: Buffer): Dimensions | undefined => {
  if (bytes.length < 30) return undefined
  switch (type) {
    case 'image/png':
      return startsWith(bytes, 'IHDR', 12)
        ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
        : undefined
    case 'image/gif':
      return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    case 'image/jpeg':
      return ofJpeg(bytes)
    case 'image/webp':
      return ofWebp(bytes)
  }
}

const kinds: readonly (readonly [signature: string, kind: string])[] = [
  ['%PDF-', 'a PDF document: get its text with bash (pdftotext), or its pages as images (pdftoppm)'],
  ['PK\x03\x04', 'a ZIP archive, or a document packed as one: list it with bash (unzip -l)'],
  ['\x1f\x8b', 'compressed with gzip: read it with bash (zcat)'],
  ['BZh', 'compressed with bzip2: read it with bash (bzcat)'],
  ['\xfd7zXZ\x00', 'compressed with xz: read it with bash (xzcat)'],
  ['\x28\xb5\x2f\xfd', 'compressed with zstd: read it with bash (zstdcat)'],
  ['\x7fELF', 'a program or library (ELF)'],
  ['SQLite format 3\x00', 'an SQLite database: query it with bash (sqlite3)'],
  ['\xff\xfe', 'text in UTF-16: convert it with bash (iconv -f UTF-16)'],
  ['\xfe\xff', 'text in UTF-16: convert it with bash (iconv -f UTF-16)'],
  ['BM', 'a bitmap image: convert it to PNG to see it'],
  ['II*\x00', 'a TIFF image: convert it to PNG to see it'],
  ['MM\x00*', 'a TIFF image: convert it to PNG to see it'],
  ['\x00asm', 'a WebAssembly module'],
]

/** What a file is that holds no text; undefined for text. */
export const binaryKindOf = (start: Buffer): string | undefined => {
  const known = kinds.find(([signature]) => startsWith(start, signature))
  // Text may begin like some of them; a zero byte, or a PDF's own mark, settles it.
  if (known && (start.includes(0) || known[0] === '%PDF-')) return known[1]
  return start.includes(0) ? 'look into it with bash (file, xxd)' : undefined
}
