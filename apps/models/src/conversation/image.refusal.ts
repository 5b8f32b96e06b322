import type { ContentPart, ConversationMessage } from '#common/contract/index.js'
import type { ProviderFailure } from '../provider/provider.failure.js'

/** Failures that say nothing about what was sent. */
const unrelated: readonly string[] = ['rate_limit', 'connection', 'auth', 'quota', 'context_length']

const ofImages = /image|vision|multi-?modal|modalit/i

const holdsImage = ({ content }: ConversationMessage): boolean =>
  content.some((part) => part.type === 'image' || (part.type === 'tool_result' && part.images?.length))

/** Whether a provider refused a conversation for its images: the model sees none, or not these. */
export const refusesImages = (
  { reason, message }: ProviderFailure,
  messages: readonly ConversationMessage[],
): boolean => !unrelated.includes(reason) && ofImages.test(message) && messages.some(holdsImage)

const insteadOf = (contentType: string): string =>
  `[An image (${contentType}) stood here, which this model refused: you can't see it. Say so where it matters.]`

const blind = (part: ContentPart): ContentPart => {
  if (part.type === 'image') return { type: 'text', text: insteadOf(part.content_type) }
  if (part.type !== 'tool_result' || !part.images?.length) return part
  const { images, ...result } = part
  return { ...result, output: [part.output, ...images.map((one) => insteadOf(one.content_type))].join('\n') }
}

/** The same conversation for a model that sees no images: each says that it is missing. */
export const withoutImages = (messages: readonly ConversationMessage[]): ConversationMessage[] =>
  messages.map(({ role, content }) => ({ role, content: content.map(blind) }))
