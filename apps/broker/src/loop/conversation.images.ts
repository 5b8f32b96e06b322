import type { ContentPartInput as ContentPart, ConversationMessage } from '#sdk/generated/types.js'
import { mostBytes } from '../context/message.bytes.js'

type Result = Extract<ContentPart, { type: 'tool_result' }>

/** Providers shrink the images of requests that hold more. */
const imagesAtMost = 20

export const imageLeftOut =
  '[An image stood here. It is left out to make room for newer ones: read it again if you need to see it.]'

const imagesOf = (part: ContentPart): NonNullable<Result['images']> =>
  part.type === 'tool_result' ? (part.images ?? []) : []

/** For JSON: images are counted by themselves. */
const withoutImages = (key: string, value: unknown): unknown =>
  key === 'images' || key === 'base64' ? undefined : value

const bytesWithoutImages = (messages: readonly ConversationMessage[]): number =>
  Buffer.byteLength(JSON.stringify(messages, withoutImages))

const bytesOf = (part: ContentPart): number[] => {
  if (part.type === 'image') return [part.base64.length]
  return imagesOf(part).map(({ base64 }) => base64.length)
}

const trimmed = (part: Result, kept: number): Result => {
  const { images = [], ...result } = part
  const output = [part.output, ...Array<string>(images.length - kept).fill(imageLeftOut)].join('\n')
  return kept ? { ...result, output, images: images.slice(0, kept) } : { ...result, output }
}

/**
 * The conversation with as many of its images as one call takes, the newest first. The same journal
 * always gives the same conversation, so that a repeated call is known as one.
 */
export const withImagesThatFit = (messages: readonly ConversationMessage[]): readonly ConversationMessage[] => {
  if (!messages.some(({ content }) => content.some((part) => bytesOf(part).length))) return messages
  let room = mostBytes - bytesWithoutImages(messages)
  let places = imagesAtMost
  const fits = (part: ContentPart): ContentPart => {
    const images = bytesOf(part)
    let kept = 0
    for (const bytes of images) {
      // Once one is left out, all older ones are: what the model saw before doesn't come and go.
      if (places === 0 || bytes > room) {
        room = 0
        break
      }
      room -= bytes + 100
      places -= 1
      kept += 1
    }
    if (kept === images.length) return part
    return part.type === 'tool_result' ? trimmed(part, kept) : { type: 'text', text: imageLeftOut }
  }
  return messages
    .toReversed()
    .map(({ role, content }) => ({ role, content: content.toReversed().map(fits).toReversed() }))
    .toReversed()
}
