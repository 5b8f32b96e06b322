import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { EngineCall } from '../call/engine.call.js'
import { schemaInstruction } from '../call/structured.output.js'
import { dialectOf } from '../provider/model.factory.js'
import type { Provider } from '../provider/provider.directory.js'
import { promptOf, toolsOf } from './prompt.map.js'

const cached = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** Anthropic caches what is marked: the instructions, and the conversation so far, which the next step repeats. */
const withCacheMarks = (prompt: LanguageModelV4Prompt): LanguageModelV4Prompt => {
  const instructions = prompt.findLastIndex(({ role }) => role === 'system')
  return prompt.map((message, at) =>
    at === instructions || at === prompt.length - 1
      ? { ...message, providerOptions: { ...message.providerOptions, ...cached } }
      : message,
  )
}

const responseFormatOf = ({ schema }: EngineCall): Pick<LanguageModelV4CallOptions, 'responseFormat'> =>
  schema ? { responseFormat: { type: 'json', schema, name: 'answer' } } : {}

/** The call in the form that the AI SDK's providers take. */
export const callOptionsOf = (call: EngineCall, provider: Provider): LanguageModelV4CallOptions => {
  const { options, ...dialect } = dialectOf(provider)
  const inWords =
    call.schema && provider.type === 'openai-compatible'
      ? [{ role: 'system' as const, content: [{ type: 'text' as const, text: schemaInstruction(call.schema) }] }]
      : []
  const prompt = promptOf([...inWords, ...call.messages], dialect)
  return {
    prompt: provider.type === 'anthropic' ? withCacheMarks(prompt) : prompt,
    ...(call.tools.length && { tools: toolsOf(call.tools), toolChoice: { type: call.tool_choice } }),
    ...(call.max_output_tokens !== undefined && { maxOutputTokens: call.max_output_tokens }),
    ...(call.temperature !== undefined && { temperature: call.temperature }),
    ...responseFormatOf(call),
    providerOptions: options,
  }
}
