import type { LanguageModelV4FunctionTool, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { ContentPart, ConversationMessage, ToolDefinition } from '#common/contract/index.js'
import type { Dialect } from '../provider/model.factory.js'

type Part<T extends ContentPart['type']> = Extract<ContentPart, { type: T }>
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]
type ToolContent = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]
export type PromptDialect = Pick<Dialect, 'metadataKey' | 'imagesInResults'>
type Metadata = NonNullable<LanguageModelV4Message['providerOptions']>

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What a provider said of a part goes back to it untouched; each provider reads only its own name in it. */
const metadataOf = (part: { provider_metadata?: unknown }): { providerOptions?: Metadata } =>
  isObject(part.provider_metadata) ? { providerOptions: part.provider_metadata as Metadata } : {}

const toolCall = (part: Part<'tool_call'>): AssistantContent => ({
  type: 'tool-call',
  toolCallId: part.call_id,
  toolName: part.name,
  // every provider wants an object here, also for a call whose input could not be read
  input: isObject(part.input) ? part.input : { unreadable_input: part.input },
  ...metadataOf(part),
})

const image = ({ content_type, base64 }: { content_type: string; base64: string }) => ({
  type: 'file' as const,
  mediaType: content_type,
  data: { type: 'data' as const, data: base64 },
})

const toolResult = (part: Part<'tool_result'>, { imagesInResults }: PromptDialect): ToolContent => {
  const { output, images, failed } = part
  return {
    type: 'tool-result',
    toolCallId: part.call_id,
    toolName: part.name,
    output:
      images?.length && imagesInResults
        ? { type: 'content', value: [{ type: 'text', text: output }, ...images.map(image)] }
        : { type: failed ? 'error-text' : 'text', value: output },
  }
}

/** For providers whose tool results are text alone. */
const shownAfter = (part: Part<'tool_result'>): UserContent[] =>
  part.images?.length
    ? [{ type: 'text', text: `[What ${part.name} (call ${part.call_id}) shows:]` }, ...part.images.map(image)]
    : []

const textOf = (content: readonly ContentPart[]): string =>
  content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n')

/** Thoughts of another provider can't be read by this one, and some refuse them. */
const isForeignThought = (part: Part<'reasoning'>, metadataKey: string | null): boolean =>
  metadataKey === null
    ? isObject(part.provider_metadata)
    : !(isObject(part.provider_metadata) && Object.hasOwn(part.provider_metadata, metadataKey))

const assistantPart = (part: ContentPart, metadataKey: string | null): AssistantContent[] => {
  switch (part.type) {
    case 'text':
      return part.text || part.provider_metadata ? [{ type: 'text', text: part.text, ...metadataOf(part) }] : []
    case 'reasoning':
      return isForeignThought(part, metadataKey) ? [] : [{ type: 'reasoning', text: part.text, ...metadataOf(part) }]
    case 'tool_call':
      return [toolCall(part)]
    case 'image':
    case 'tool_result':
      return []
  }
}

/** Results of tools first: providers want them right after the calls. */
const userMessages = (content: readonly ContentPart[], dialect: PromptDialect): LanguageModelV4Message[] => {
  const answers = content.filter((part) => part.type === 'tool_result')
  const results = answers.map((part) => toolResult(part, dialect))
  const shown = dialect.imagesInResults ? [] : answers.flatMap(shownAfter)
  const said = content.flatMap((part): UserContent[] => {
    if (part.type === 'text' && part.text) return [{ type: 'text', text: part.text }]
    return part.type === 'image' ? [image(part)] : []
  })
  return [
    ...(results.length ? [{ role: 'tool' as const, content: results }] : []),
    ...(shown.length || said.length ? [{ role: 'user' as const, content: [...shown, ...said] }] : []),
  ]
}

/**
 * The neutral conversation in the form that the AI SDK's providers take. System messages may only stand at the
 * beginning there: a later one becomes a marked message of the user.
 *
 * Thoughts go back only to the provider whose `metadataKey` they hold; one without takes its own as plain text.
 */
export const promptOf = (messages: readonly ConversationMessage[], dialect: PromptDialect): LanguageModelV4Prompt => {
  let begun = false
  return messages.flatMap(({ role, content }): LanguageModelV4Message[] => {
    if (role === 'system') {
      const text = textOf(content)
      if (!text) return []
      return begun
        ? [{ role: 'user', content: [{ type: 'text', text: `<system>\n${text}\n</system>` }] }]
        : [{ role: 'system', content: text }]
    }
    begun = true
    if (role !== 'assistant') return userMessages(content, dialect)
    const said = content.flatMap((part) => assistantPart(part, dialect.metadataKey))
    return said.length ? [{ role: 'assistant', content: said }] : []
  })
}

export const toolsOf = (tools: readonly ToolDefinition[]): LanguageModelV4FunctionTool[] =>
  tools.map(({ name, description, input_schema }) => ({
    type: 'function',
    name,
    description,
    inputSchema: input_schema as LanguageModelV4FunctionTool['inputSchema'],
  }))
