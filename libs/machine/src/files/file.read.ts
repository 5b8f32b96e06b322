import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { FileError } from './file.error.js'
import { type FileState, stateOf } from './file.state.js'
import { pathOfDescriptor } from './path.bytes.js'
import type { Place } from './path.place.js'

/** A character of UTF-8 has at most so many bytes: a read that is to get on takes as many. */
export const shortestRead = 4

export interface ReadRequest {
  /** Byte to begin at. */
  readonly offset: number
  /** Bytes at most, at least `shortestRead`. */
  readonly limit: number
  /** `auto`: as text when the bytes are UTF-8. `utf8`: as text in any case, what is none shown as U+FFFD. */
  readonly encoding: 'auto' | 'utf8' | 'base64'
}

export interface FilePiece extends FileState {
  /** As the caller sees it, links followed. */
  readonly path: string
  readonly content: { readonly text: string } | { readonly bytes: Buffer }
  /** Byte after the last one of this piece. */
  readonly end: number
}

/**
 * Opens a regular file. Nothing else is ever opened, so that no pipe is waited for and no device does anything: the
 * descriptor that stands for the file is looked at first, and opening it again can't lead to another file.
 *
 * @throws FileError, and what open(2) answers.
 */
export const openRegular = async (place: Place): Promise<FileHandle> => {
  const { entry, asked } = place
  if (!entry) throw new FileError('not_found', `${asked} does not exist.`)
  if (entry.stat.isDirectory()) throw new FileError('not_a_file', `${asked} is a directory.`)
  if (!entry.stat.isFile()) throw new FileError('not_a_file', `${asked} is not a regular file.`)
  const file = await open(pathOfDescriptor(entry.handle.fd), constants.O_RDONLY | constants.O_NONBLOCK)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new FileError('not_a_file', `${asked} is not a regular file.`)
}

/** Bytes from an offset on, fewer than asked for only at the end of the file. */
const bytesFrom = async (file: FileHandle, offset: number, length: number): Promise<Buffer> => {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, offset + filled)
    if (!bytesRead) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

/** The length without a character that is cut off at the end. */
export const wholeCharacters = (bytes: Buffer): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** @throws FileError, and what read(2) answers. */
export const readPiece = async (place: Place, { offset, limit, encoding }: ReadRequest): Promise<FilePiece> => {
  await using file = await openRegular(place)
  // Before the bytes: an etag that is older than what was read only refuses a write, a newer one would let it through.
  const state = stateOf(await file.stat({ bigint: true }))
  // A little more than there seems to be, since the file may have grown.
  const length = Math.min(limit, Math.max(0, state.size - offset) + shortestRead)
  const bytes = await bytesFrom(file, offset, length)
  const size = bytes.length ? Math.max(state.size, offset + bytes.length) : state.size
  return { ...state, ...pieceOf(bytes, { offset, size, encoding }), path: place.path }
}

const pieceOf = (
  bytes: Buffer,
  { offset, size, encoding }: { offset: number; size: number; encoding: ReadRequest['encoding'] },
): Pick<FilePiece, 'content' | 'end' | 'size'> => {
  const whole = offset + bytes.length >= size ? bytes : bytes.subarray(0, wholeCharacters(bytes))
  if (encoding === 'utf8' || (encoding === 'auto' && isUtf8(whole)))
    return { content: { text: whole.toString('utf8') }, end: offset + whole.length, size }
  return { content: { bytes }, end: offset + bytes.length, size }
}
