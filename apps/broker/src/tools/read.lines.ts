import type { FileHandle } from 'node:fs/promises'
import { bytesOf, textOfBytes } from './file.bytes.js'
import { linesOf, type TextLine } from './text.lines.js'
import { ToolError } from './tool.js'

const charactersAtOnce = 50_000
const longestLine = 2000
/** Of longer files the lines are not counted to the end. */
const countedSize = 64 * 1024 * 1024

const numbered = ({ number, text, omitted }: TextLine): string =>
  `${String(number).padStart(6)}\t${text}${omitted ? ` [… ${omitted} characters of this line left out …]` : ''}\n`

const restLine = (next: number, total: number | undefined): string =>
  `[… ${total === undefined ? 'more lines follow' : `lines ${next}–${total} follow`}: go on with offset: ${next} …]`

/**
 * A piece of a text, its lines numbered, with what is missing of it said at the end.
 *
 * @throws ToolError when it has no line `offset`
 */
export const readLines = async (
  file: FileHandle,
  { path, size, offset, limit }: { path: string; size: number; offset: number; limit: number },
  signal: AbortSignal,
): Promise<string> => {
  const content = textOfBytes(bytesOf(file, size, signal))
  let last = 0
  let next: number | undefined
  let output = ''
  let cut = false
  for await (const line of linesOf(content, longestLine)) {
    last = line.number
    if (last < offset) continue
    const shown = numbered(last === 1 ? { ...line, text: line.text.replace(/^\ufeff/, '') } : line)
    if (next === undefined && (last >= offset + limit || (output && output.length + shown.length > charactersAtOnce))) {
      next = last
      if (size > countedSize) break
    }
    if (next !== undefined) continue
    output += shown
    cut ||= line.omitted > 0
  }
  if (last < offset)
    throw new ToolError(`${path} has ${last} line${last === 1 ? '' : 's'}; offset ${offset} is beyond its end.`)
  const notes = [
    ...(next === undefined ? [] : [restLine(next, size > countedSize ? undefined : last)]),
    ...(cut
      ? [`[Lines longer than ${longestLine} characters are cut: see the rest with search or with bash (cut -c).]`]
      : []),
    ...(output.includes('\ufffd')
      ? ['[Some of this is not UTF-8 and shown as \ufffd: edit such a file with bash.]']
      : []),
  ]
  return [output.trimEnd(), ...notes].join('\n')
}
