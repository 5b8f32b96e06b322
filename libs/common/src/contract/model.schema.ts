import { z } from 'zod'
import { contentPart, conversationMessage, toolDefinition } from './broker.schema.js'
import { jsonSchema, ordinal, slug, time } from './common.schema.js'
import { strength, strengths } from './node.schema.js'

export const providerTypes = ['openai', 'anthropic', 'google', 'openai-compatible'] as const

/** A credential as it may be shown: never its material. */
export const credential = z
  .object({
    provider: slug,
    kind: z.enum(['api_key', 'oauth']),
    label: z.string().nullable(),
    last_four: z.string().nullable(),
    health: z.object({
      state: z.enum(['unknown', 'usable', 'failing']),
      reason: z.string().nullable(),
      checked_at: time.nullable(),
    }),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'ModelCredential' })

const secret = z.string().min(1).max(16_384)
export const credentialInstall = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('api_key'), api_key: secret, label: z.string().max(128).optional() }),
  z.strictObject({
    kind: z.literal('oauth'),
    access_token: secret,
    refresh_token: secret.optional(),
    expires_at: time.optional(),
    label: z.string().max(128).optional(),
  }),
])

const rung = z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,63}\/.{1,160}$/, 'must be provider/model')

export const providerConfig = z.strictObject({
  type: z.enum(providerTypes),
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ description: 'Required for openai-compatible: Ollama, llama.cpp, vLLM …' }),
  requires_key: z.boolean().optional().meta({
    description: 'Whether calls need a credential; false unless given for openai-compatible, true for the others',
  }),
})

export const price = z.strictObject({
  input_per_million: z.number().min(0),
  output_per_million: z.number().min(0),
  cached_input_per_million: z.number().min(0).optional(),
})

/** The fields of the config, without defaults: an absent one stays as it is in an update. */
const configFields = {
  providers: z.record(slug, providerConfig),
  ladders: z.partialRecord(strength, z.array(rung).max(16)).meta({
    description: 'For each strength the models to try, in order; a missing strength falls back to the nearest one',
  }),
  prices: z.record(z.string(), price).meta({ description: 'US dollars a million tokens, by provider/model' }),
  context_windows: z.record(z.string(), z.int().min(1024).max(100_000_000)).meta({
    description: 'Tokens that a model takes, question and answer together, by provider/model',
  }),
  limits: z.strictObject({
    cost_usd_per_day: z.number().min(0).optional(),
    concurrent_calls: z.int().min(1).max(1000).optional(),
  }),
}

export const modelConfigDocument = z.strictObject({
  providers: configFields.providers.default({}),
  ladders: configFields.ladders.default({}),
  prices: configFields.prices.default({}),
  context_windows: configFields.context_windows.default({}),
  limits: configFields.limits.default({}),
})
export type ModelConfigDocument = z.infer<typeof modelConfigDocument>

export const modelConfig = modelConfigDocument
  .extend({ version: z.int(), updated_at: time })
  .meta({ id: 'ModelConfig' })

export const modelConfigUpdate = z
  .strictObject(configFields)
  .partial()
  .extend({
    if_version: z
      .int()
      .optional()
      .meta({ description: 'Refused with precondition_failed unless the config is at this version' }),
  })

export const readiness = z
  .object({
    ready: z.boolean().meta({ description: 'Whether at least one strength can be served' }),
    providers: z.array(
      z.object({
        provider: slug,
        type: z.enum(providerTypes),
        configured: z.boolean(),
        usable: z.boolean(),
        reason: z.string().nullable(),
        checked_at: time.nullable(),
      }),
    ),
    strengths: z.array(
      z.object({ strength: z.enum(strengths), model: z.string().nullable(), reason: z.string().nullable() }),
    ),
    remedy: z.string().nullable(),
  })
  .meta({ id: 'ModelReadiness' })

export const callUsage = z.object({
  input_tokens: z.int(),
  output_tokens: z.int(),
  cached_tokens: z.int(),
  cost_usd: z.number(),
})

const callFields = {
  messages: z.array(conversationMessage).min(1).max(10_000),
  tools: z.array(toolDefinition).max(128).default([]),
  tool_choice: z.enum(['auto', 'none', 'required']).default('auto'),
  max_output_tokens: z.int().min(1).max(1_000_000).optional(),
  temperature: z.number().min(0).max(2).optional(),
}

/** `POST /v1/llm`. */
export const llmRequest = z.strictObject({
  ...callFields,
  strength: strength.optional(),
  model: z.string().max(200).optional().meta({ description: '`provider/model`, instead of a strength' }),
  schema: jsonSchema.optional().meta({ description: 'The answer is one JSON value that satisfies this schema' }),
})

export const finishReasons = ['stop', 'length', 'tool_calls', 'content_filter', 'error', 'other'] as const

export const llmAnswer = z
  .object({
    content: z.array(contentPart),
    output: z.unknown().optional().meta({ description: 'The value, when `schema` was given' }),
    finish_reason: z.enum(finishReasons),
    model: z.string().meta({ description: '`provider/model` that really answered' }),
    usage: callUsage,
    context_window: z
      .int()
      .optional()
      .meta({ description: 'Tokens that this model takes, as far as is known; absent in answers of older versions' }),
    attempts: z
      .array(z.object({ model: z.string(), code: z.string(), message: z.string() }))
      .meta({ description: 'Rungs of the ladder that failed before this one' }),
  })
  .meta({ id: 'LlmAnswer' })
export type LlmAnswer = z.infer<typeof llmAnswer>

export const llmItem = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('reasoning'), text: z.string() }),
  z.object({ type: z.literal('tool_input'), call_id: z.string(), name: z.string(), text: z.string() }),
  z.object({
    type: z.literal('answer'),
    answer: llmAnswer,
    replayed: z.boolean().meta({ description: 'Whether the answer was bought before and is only read back' }),
    unknown_attempts: z
      .int()
      .min(1)
      .optional()
      .meta({ description: 'Earlier attempts of the same step whose end is unknown: they may have been paid for' }),
  }),
])
export type LlmItem = z.infer<typeof llmItem>

/** The model call of a node's turn; journaled under (node, engagement-wide turn, step). */
export const turnCall = z.strictObject({
  ...callFields,
  turn: ordinal,
  step: ordinal,
  strength: strength,
  model: z.string().max(200).optional(),
})
export type TurnCall = z.infer<typeof turnCall>
