import type { FileHandle } from 'node:fs/promises'

const pieceLength = 64 * 1024

/**
 * The bytes of a file from its beginning, piece by piece, each a buffer of its own.
 *
 * @param length bytes at most: what it was when it was opened may grow meanwhile
 * @throws the signal's reason
 */
export async function* bytesOf(file: FileHandle, length: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let at = 0; at < length; ) {
    signal.throwIfAborted()
    const wanted = Math.min(pieceLength, length - at)
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, at)
    if (!bytesRead) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** The same as text; what is no UTF-8 comes as U+FFFD. */
export async function* textOfBytes(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  for await (const piece of bytes) yield decoder.decode(piece, { stream: true })
  yield decoder.decode()
}
