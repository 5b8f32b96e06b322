import type { FileHandle } from 'node:fs/promises'
import { bytesOf } from './file.bytes.js'
import { dimensionsOf, imageBytes, imageSide } from './file.kind.js'
import { ToolError, type ToolImage, type ToolResult } from './tool.js'

/**
 * An image as the model sees it, with a line of text that says what it is.
 *
 * @throws ToolError when it is larger than providers take, or too damaged to say its size
 */
export const imageAnswer = async (
  file: FileHandle,
  { path, size, type }: { path: string; size: number; type: ToolImage['content_type'] },
  signal: AbortSignal,
): Promise<ToolResult> => {
  const shrink = 'make a smaller copy with bash (convert -resize, ffmpeg -vf scale) and read that'
  if (size > imageBytes)
    throw new ToolError(
      `${path} is an image (${type}) of ${size} bytes, more than the ${imageBytes} that can be shown: ${shrink}.`,
    )
  const chunks: Buffer[] = []
  for await (const chunk of bytesOf(file, size, signal)) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  const sides = dimensionsOf(type, bytes)
  // A provider refuses the whole conversation for it, now and in every later turn.
  if (!sides)
    throw new ToolError(`${path} begins like an image (${type}), but is cut off or damaged: no size is in it.`)
  if (Math.max(sides.width, sides.height) > imageSide)
    throw new ToolError(
      `${path} is an image of ${sides.width} × ${sides.height} pixels, more than the ${imageSide} a side that can be shown: ${shrink}.`,
    )
  const measure = `${sides.width} × ${sides.height} pixels, `
  return {
    output: `${path}: ${type}, ${measure}${bytes.length} bytes; shown as an image.`,
    images: [{ content_type: type, base64: bytes.toString('base64') }],
  }
}
