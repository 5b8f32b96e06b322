import type { ContentPartInput as ContentPart, ConversationMessage } from '#sdk/generated/types.js'
import { mostBytes } from '../context/message.bytes.js'

type Result = Extract<ContentPart, { type: 'tool_result' }>

/** Providers shrink the images of requests that hold more. */
const imagesAtMost = 20

export const imageLeftOut =
  '[An image stood here. It is left out to make room for newer ones: read it again if you need to see it.]'

const imagesOf = (part: ContentPart): NonNullable<Result['images']> =>
  part.type === 'tool_result' ? (part.images ?? []) : []

const bytesWithoutImages = (messages: readonly ConversationMessage[]): number =>
  Buffer.byteLength(JSON.stringify(messages, (key, value: unknown) => (key === 'images' ? undefined : value)))

const trimmed = (part: Result, kept: number): Result => {
  const { images = [], ...result } = part
  const output = [part.output, ...Array<string>(images.length - kept).fill(imageLeftOut)].join('\n')
  return kept ? { ...result, output, images: images.slice(0, kept) } : { ...result, output }
}

/**
 * The conversation with as many of the images that tools answered as one call takes, the newest first. The same journal
 * always gives the same conversation, so that a repeated call is known as one.
 */
export const withImagesThatFit = (messages: readonly ConversationMessage[]): readonly ConversationMessage[] => {
  if (!messages.some(({ content }) => content.some((part) => imagesOf(part).length))) return messages
  let room = mostBytes - bytesWithoutImages(messages)
  let places = imagesAtMost
  const fits = (part: ContentPart): ContentPart => {
    const images = imagesOf(part)
    let kept = 0
    for (const { base64 } of images) {
      // Once one is left out, all older ones are: what the model saw before doesn't come and go.
      if (places === 0 || base64.length > room) {
        room = 0
        break
      }
      room -= base64.length + 100
      places -= 1
      kept += 1
    }
    return part.type === 'tool_result' && kept < images.length ? trimmed(part, kept) : part
  }
  return messages
    .toReversed()
    .map(({ role, content }) => ({ role, content: content.toReversed().map(fits).toReversed() }))
    .toReversed()
}
