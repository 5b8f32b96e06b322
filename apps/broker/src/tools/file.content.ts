import { isUtf8 } from 'node:buffer'
import { type FileState, stateOf } from '#machine/files/file.state.js'
import type { ConfinedFiles } from './confined.path.js'
import { binaryKindOf } from './file.kind.js'
import { ToolError } from './tool.js'

/** Bytes of a file that is written, or read as a whole to be edited. */
export const wholeFileLimit = 8 * 1024 * 1024

interface FileText {
  readonly text: string
  /** As the node's programs see it, links followed. */
  readonly path: string
  readonly state: FileState
}

/** @throws ToolError when it is too long, or holds no text that could be written back as it was. */
export const readWhole = async (files: ConfinedFiles, path: string): Promise<FileText> => {
  await using file = await files.openToRead(path)
  const state = stateOf(await file.stat({ bigint: true }))
  if (state.size > wholeFileLimit)
    throw new ToolError(
      `${path} has ${state.size} bytes, more than the ${wholeFileLimit} that can be edited as a whole: use bash.`,
    )
  const bytes = await file.readFile()
  const binary = binaryKindOf(bytes.subarray(0, 8192))
  if (binary) throw new ToolError(`${path} is a binary file (${bytes.length} bytes): ${binary}.`)
  if (!isUtf8(bytes))
    throw new ToolError(
      `${path} is not UTF-8, so that editing it here would damage it; nothing was changed. Change it with bash (sed, iconv).`,
    )
  return { text: bytes.toString('utf8'), path: await files.existing(path), state }
}
