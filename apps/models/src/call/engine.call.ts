import type { ConversationMessage, Strength, ToolDefinition } from '#common/contract/index.js'

/** What is asked of a model, as both routes give it. */
export interface EngineCall {
  readonly messages: readonly ConversationMessage[]
  readonly tools: readonly ToolDefinition[]
  readonly tool_choice: 'auto' | 'none' | 'required'
  readonly max_output_tokens?: number | undefined
  readonly temperature?: number | undefined
  readonly strength: Strength
  /** `provider/model`, instead of the strength. */
  readonly model?: string | undefined
  readonly schema?: Readonly<Record<string, unknown>> | undefined
}
