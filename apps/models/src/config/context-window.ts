import type { ModelConfigDocument } from '#common/contract/index.js'
import type { ProviderType } from '../provider/provider.directory.js'
import { defaultContextWindows } from './config.defaults.js'

/**
 * Of a model that stands nowhere. Too small a guess costs an agent a fresh context too early; too large a one is met
 * by the provider's refusal, but some local servers cut a conversation without a word.
 */
const unknownWindows: Readonly<Record<ProviderType, number>> = {
  anthropic: 200_000,
  openai: 128_000,
  google: 1_000_000,
  'openai-compatible': 65_536,
}

/** Tokens that a model takes, question and answer together: as the owner says, as is published, else a careful guess. */
export const contextWindowOf = (
  rung: string,
  type: ProviderType,
  windows: ModelConfigDocument['context_windows'],
): number => windows[rung] ?? defaultContextWindows[rung] ?? unknownWindows[type]
