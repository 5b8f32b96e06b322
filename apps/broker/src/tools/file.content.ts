import { randomBytes } from 'node:crypto'
import { constants, type FileHandle, open, rename, stat, unlink } from 'node:fs/promises'
import type { ConfinedFiles } from './confined.path.js'
import { ToolError } from './tool.js'

/** Files that are read whole, to be edited, are at most this long. */
const wholeFileLimit = 8 * 1024 * 1024

/** @throws ToolError when it is too long, or holds no text that could be written back as it was. */
export const readWhole = async (files: ConfinedFiles, path: string): Promise<string> => {
  await using file = await files.openToRead(path)
  const { size } = await file.stat()
  if (size > wholeFileLimit)
    throw new ToolError(
      `${path} has ${size} bytes, more than the ${wholeFileLimit} that can be edited as a whole: use bash.`,
    )
  const bytes = await file.readFile()
  if (bytes.subarray(0, 8192).includes(0))
    throw new ToolError(`${path} is a binary file (${size} bytes): use bash to look into it.`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new ToolError(
      `${path} is not UTF-8, so that editing it here would damage it; nothing was changed. Change it with bash (sed, iconv).`,
    )
  }
}

/** Puts a file in place as a whole: whoever reads it sees the old text or the new. Keeps the mode of one that was there. */
export const writeWhole = async (files: ConfinedFiles, path: string, text: string): Promise<'created' | 'replaced'> => {
  const { directory, name } = await files.openParent(path)
  const held: FileHandle = directory
  try {
    const at = (file: string): string => `/proc/self/fd/${held.fd}/${file}`
    const before = await stat(at(name)).catch(() => undefined)
    if (before?.isDirectory()) throw new ToolError(`${path} is a directory.`)
    const draft = at(`.${name.slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`)
    try {
      const file = await open(
        draft,
        constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
        before ? before.mode & 0o777 : 0o666,
      )
      try {
        await file.writeFile(text)
        if (before) await file.chmod(before.mode & 0o7777)
      } finally {
        await file.close()
      }
      await rename(draft, at(name))
    } catch (error) {
      await unlink(draft).catch(() => undefined)
      throw new ToolError(`${path} could not be written: ${(error as Error).message}`)
    }
    return before ? 'replaced' : 'created'
  } finally {
    await held.close()
  }
}
