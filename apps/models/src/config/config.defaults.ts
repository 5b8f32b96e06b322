import type { ModelConfigDocument, Strength } from '#common/contract/index.js'

/** Providers that need no configuration: their names are their types. */
export const builtInProviders = ['anthropic', 'openai', 'google'] as const
export type BuiltInProvider = (typeof builtInProviders)[number]

export const isBuiltIn = (name: string): name is BuiltInProvider =>
  (builtInProviders as readonly string[]).includes(name)

/**
 * When the names and prices below were last compared with what the providers publish. Prices change without notice: an
 * entry of the owner's own config wins over these.
 */
export const defaultsCheckedAt = '2026-07-04'

/** What serves each strength while the owner has configured no ladder; a rung counts once its credential is installed. */
export const defaultLadders: Record<Strength, readonly string[]> = {
  light: ['anthropic/claude-haiku-4-5', 'openai/gpt-5.4-mini', 'google/gemini-2.5-flash'],
  medium: ['anthropic/claude-sonnet-4-6', 'openai/gpt-5.4', 'google/gemini-3.5-flash'],
  strong: ['anthropic/claude-opus-4-8', 'openai/gpt-5.5', 'google/gemini-3.1-pro-preview'],
  ultra: ['anthropic/claude-opus-4-8', 'openai/gpt-5.5', 'google/gemini-3.1-pro-preview'],
}

/** US dollars a million tokens, standard tier. A model that stands nowhere costs 0 in the accounts. */
export const defaultPrices: ModelConfigDocument['prices'] = {
  'anthropic/claude-haiku-4-5': { input_per_million: 1, output_per_million: 5, cached_input_per_million: 0.1 },
  'anthropic/claude-sonnet-4-6': { input_per_million: 3, output_per_million: 15, cached_input_per_million: 0.3 },
  'anthropic/claude-opus-4-8': { input_per_million: 5, output_per_million: 25, cached_input_per_million: 0.5 },
  'openai/gpt-5.4-nano': { input_per_million: 0.2, output_per_million: 1.25, cached_input_per_million: 0.02 },
  'openai/gpt-5.4-mini': { input_per_million: 0.75, output_per_million: 4.5, cached_input_per_million: 0.075 },
  'openai/gpt-5.4': { input_per_million: 2.5, output_per_million: 15, cached_input_per_million: 0.25 },
  'openai/gpt-5.5': { input_per_million: 5, output_per_million: 30, cached_input_per_million: 0.5 },
  'google/gemini-2.5-flash-lite': { input_per_million: 0.1, output_per_million: 0.4, cached_input_per_million: 0.01 },
  'google/gemini-2.5-flash': { input_per_million: 0.3, output_per_million: 2.5, cached_input_per_million: 0.03 },
  'google/gemini-3-flash-preview': { input_per_million: 0.5, output_per_million: 3, cached_input_per_million: 0.05 },
  'google/gemini-3.5-flash': { input_per_million: 1.5, output_per_million: 9 },
  'google/gemini-3.1-pro-preview': { input_per_million: 2, output_per_million: 12 },
}

/**
 * Tokens, question and answer together; checked on 2026-11-20. Anthropic's and Google's by their own pages of the models
 * (platform.claude.com/docs/en/models, ai.google.dev/gemini-api/docs/models), OpenAI's as Vercel, OpenRouter and Oxen list
 * them.
 */
export const defaultContextWindows: ModelConfigDocument['context_windows'] = {
  'anthropic/claude-haiku-4-5': 200_000,
  'anthropic/claude-sonnet-4-6': 1_000_000,
  'anthropic/claude-opus-4-8': 1_000_000,
  'openai/gpt-5.4-nano': 400_000,
  'openai/gpt-5.4-mini': 400_000,
  'openai/gpt-5.4': 1_050_000,
  'openai/gpt-5.5': 1_050_000,
  'google/gemini-2.5-flash-lite': 1_048_576,
  'google/gemini-2.5-flash': 1_048_576,
  'google/gemini-3-flash-preview': 1_048_576,
  'google/gemini-3.5-flash': 1_048_576,
  'google/gemini-3.1-pro-preview': 1_048_576,
}
