import type { ModelConfigDocument } from '#common/contract/index.js'
import { defaultPrices } from './config.defaults.js'

export interface TokenCounts {
  readonly input_tokens: number
  readonly output_tokens: number
  /** Part of `input_tokens` that the provider read from its cache. */
  readonly cached_tokens: number
}

/** US dollars, to the tenth decimal. 0 when the price is not known; tokens written to a cache count as plain input. */
export const costOf = (rung: string, counts: TokenCounts, prices: ModelConfigDocument['prices']): number => {
  const price = prices[rung] ?? defaultPrices[rung]
  if (!price) return 0
  const fresh = Math.max(0, counts.input_tokens - counts.cached_tokens)
  const cached = price.cached_input_per_million ?? price.input_per_million
  const micro =
    fresh * price.input_per_million + counts.cached_tokens * cached + counts.output_tokens * price.output_per_million
  return Math.round(micro * 1e4) / 1e10
}
