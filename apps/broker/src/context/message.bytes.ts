import type { ConversationMessage } from '#sdk/generated/types.js'

/** Bytes of a conversation as JSON, below the 7 MiB that the daemon takes of one model call with its tools. */
export const mostBytes = 6.5 * 1024 * 1024
/** Characters that can't become that many bytes, whatever they are. */
const surelyFine = mostBytes / 8

const rough = (messages: readonly ConversationMessage[]): number => {
  let length = 0
  for (const { content } of messages) {
    for (const part of content) {
      if (part.type === 'tool_call') length += JSON.stringify(part.input ?? null).length
      else if (part.type === 'tool_result') length += part.output.length
      else if (part.type !== 'image') length += part.text.length
    }
  }
  return length
}

/** Bytes of a conversation as JSON, images apart, which are left out where they don't fit; exact where it matters. */
export const bytesOfMessages = (messages: readonly ConversationMessage[]): number => {
  const length = rough(messages)
  if (length < surelyFine) return length
  return Buffer.byteLength(
    JSON.stringify(messages, (key, value: unknown) => (key === 'images' || key === 'base64' ? undefined : value)),
  )
}
