import type { ContentPartInput as ContentPart, JournalEntry } from '#sdk/generated/types.js'

/** What providers count for an image of the size that they are sent in, roughly. */
const imageTokens = 1600

/** Tokens of a text, roughly: four bytes each, so that scripts of three bytes a character count for more. */
export const tokensOfText = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

export const tokensOfPart = (part: ContentPart): number => {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return tokensOfText(part.text)
    case 'image':
      return imageTokens
    case 'tool_call':
      return tokensOfText(JSON.stringify(part.input ?? null)) + 20
    case 'tool_result':
      return tokensOfText(part.output) + (part.images?.length ?? 0) * imageTokens + 20
  }
}

export const tokensOfParts = (parts: readonly ContentPart[]): number =>
  parts.reduce((sum, part) => sum + tokensOfPart(part), 0)

/** What an entry adds to the conversation, roughly. */
export const tokensOfEntry = (entry: JournalEntry): number => {
  switch (entry.type) {
    case 'turn_started':
    case 'message':
      return tokensOfParts(entry.content)
    case 'tool_ended':
      return tokensOfText(entry.output) + (entry.images?.length ?? 0) * imageTokens + 20
    case 'tool_started':
    case 'compacted':
    case 'turn_ended':
      return 0
  }
}
