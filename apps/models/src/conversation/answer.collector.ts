import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { ContentPart, LlmAnswer, LlmItem } from '#common/contract/index.js'
import type { TokenCounts } from '../config/price.js'

/** What the reader of a stream is shown before the answer is whole. */
export type DeltaItem = Exclude<LlmItem, { type: 'answer' }>

export interface CollectedAnswer {
  readonly content: ContentPart[]
  readonly finishReason: LlmAnswer['finish_reason']
  readonly tokens: TokenCounts
}

interface OpenText {
  type: 'text' | 'reasoning'
  text: string
  provider_metadata?: unknown
}

const finishReasonOf = (reason: LanguageModelV4FinishReason['unified']): LlmAnswer['finish_reason'] => {
  switch (reason) {
    case 'stop':
    case 'length':
    case 'error':
    case 'other':
      return reason
    case 'content-filter':
      return 'content_filter'
    case 'tool-calls':
      return 'tool_calls'
    case 'interrupted':
      return 'error'
  }
}

const tokensOf = ({ inputTokens, outputTokens }: LanguageModelV4Usage): TokenCounts => ({
  input_tokens: inputTokens.total ?? 0,
  output_tokens: outputTokens.total ?? 0,
  cached_tokens: inputTokens.cacheRead ?? 0,
})

/** A provider may say more of a part as it goes; later words win, name by name. */
const merge = (before: unknown, more: unknown): unknown => {
  if (more === undefined) return before
  const result: Record<string, unknown> = { ...(before as Record<string, unknown> | undefined) }
  for (const [provider, values] of Object.entries(more as Record<string, object>)) {
    result[provider] = { ...(result[provider] as object | undefined), ...values }
  }
  return result
}

const toolCallOf = (part: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>): ContentPart => {
  const call = { type: 'tool_call' as const, call_id: part.toolCallId, name: part.toolName }
  const metadata = part.providerMetadata === undefined ? {} : { provider_metadata: part.providerMetadata }
  const text = part.input.trim() || '{}'
  try {
    const input: unknown = JSON.parse(text)
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return { ...call, input, ...metadata }
    return { ...call, input, invalid: 'The input is not a JSON object.', ...metadata }
  } catch (error) {
    return {
      ...call,
      input: part.input,
      invalid: `The input is not valid JSON: ${(error as Error).message}`,
      ...metadata,
    }
  }
}

/** Puts one streamed answer together: the parts in the order in which they began. */
export class AnswerCollector {
  readonly #content: ContentPart[] = []
  readonly #open = new Map<string, OpenText>()
  readonly #toolNames = new Map<string, string>()
  #finish: { reason: LanguageModelV4FinishReason['unified']; usage: LanguageModelV4Usage } | undefined

  /** Whether the provider has said anything of its answer. */
  get begun(): boolean {
    return this.#content.length > 0 || this.#toolNames.size > 0
  }

  /** Whether the provider has said that the answer is whole. */
  get finished(): boolean {
    return this.#finish !== undefined && this.#finish.reason !== 'interrupted'
  }

  /** Takes the next part of the stream; answers what a reader is to be shown of it. */
  accept(part: LanguageModelV4StreamPart): DeltaItem | undefined {
    switch (part.type) {
      case 'text-start':
        this.#begin('text', part)
        return undefined
      case 'reasoning-start':
        this.#begin('reasoning', part)
        return undefined
      case 'text-delta':
        return this.#extend('text', part)
      case 'reasoning-delta':
        return this.#extend('reasoning', part)
      case 'text-end':
        this.#end('text', part)
        return undefined
      case 'reasoning-end':
        this.#end('reasoning', part)
        return undefined
      case 'tool-input-start':
        this.#toolNames.set(part.id, part.toolName)
        return { type: 'tool_input', call_id: part.id, name: part.toolName, text: '' }
      case 'tool-input-delta':
        return { type: 'tool_input', call_id: part.id, name: this.#toolNames.get(part.id) ?? '', text: part.delta }
      case 'tool-call':
        this.#content.push(toolCallOf(part))
        return undefined
      case 'finish':
        this.#finish = { reason: part.finishReason.unified, usage: part.usage }
        return undefined
      default:
        return undefined
    }
  }

  /** The whole answer. @throws Error before the provider has finished it. */
  collect(): CollectedAnswer {
    if (!this.#finish) throw new Error('the answer is not whole')
    return {
      content: this.#content.filter(
        (part) => part.type !== 'text' || part.text !== '' || part.provider_metadata !== undefined,
      ),
      finishReason: this.#finishReason(this.#finish.reason),
      tokens: tokensOf(this.#finish.usage),
    }
  }

  /** Not every provider says that it stopped for its tools. */
  #finishReason(reason: LanguageModelV4FinishReason['unified']): LlmAnswer['finish_reason'] {
    const called = this.#content.some(({ type }) => type === 'tool_call')
    return called && (reason === 'stop' || reason === 'other') ? 'tool_calls' : finishReasonOf(reason)
  }

  #begin(type: OpenText['type'], part: { id: string; providerMetadata?: unknown }): OpenText {
    const open: OpenText = { type, text: '' }
    if (part.providerMetadata !== undefined) open.provider_metadata = part.providerMetadata
    this.#open.set(`${type} ${part.id}`, open)
    this.#content.push(open)
    return open
  }

  #extend(
    type: OpenText['type'],
    part: { id: string; delta: string; providerMetadata?: unknown },
  ): DeltaItem | undefined {
    const open = this.#open.get(`${type} ${part.id}`) ?? this.#begin(type, { id: part.id })
    open.text += part.delta
    if (part.providerMetadata !== undefined)
      open.provider_metadata = merge(open.provider_metadata, part.providerMetadata)
    return part.delta ? { type, text: part.delta } : undefined
  }

  #end(type: OpenText['type'], part: { id: string; providerMetadata?: unknown }): void {
    const open = this.#open.get(`${type} ${part.id}`)
    this.#open.delete(`${type} ${part.id}`)
    if (open && part.providerMetadata !== undefined)
      open.provider_metadata = merge(open.provider_metadata, part.providerMetadata)
  }
}
