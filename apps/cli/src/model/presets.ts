import type { ModelConfigUpdate } from '#sdk/index.js'

type ProviderInput = NonNullable<ModelConfigUpdate['providers']>[string]
export type Ladders = NonNullable<ModelConfigUpdate['ladders']>
export const strengths = ['light', 'medium', 'strong', 'ultra'] as const
export type Strength = (typeof strengths)[number]

export interface Preset {
  readonly provider: ProviderInput
  /** Whether calls need a key. */
  readonly keyed: boolean
  /** A model for each strength, where the provider's names are known; else the caller names one. */
  readonly models?: Readonly<Record<Strength, string>>
}

/** Kinds of provider that `svc model add` knows by name. `--model` overrules the models. */
export const presets: Readonly<Record<string, Preset>> = {
  openai: {
    provider: { type: 'openai' },
    keyed: true,
    models: { light: 'gpt-5.4-mini', medium: 'gpt-5.4', strong: 'gpt-5.6', ultra: 'gpt-5.6' },
  },
  anthropic: {
    provider: { type: 'anthropic' },
    keyed: true,
    models: { light: 'claude-haiku-4-5', medium: 'claude-sonnet-5', strong: 'claude-opus-5', ultra: 'claude-opus-5' },
  },
  google: {
    provider: { type: 'google' },
    keyed: true,
    models: {
      light: 'gemini-flash-lite-latest',
      medium: 'gemini-flash-latest',
      strong: 'gemini-pro-latest',
      ultra: 'gemini-pro-latest',
    },
  },
  ollama: { provider: { type: 'openai-compatible', base_url: 'http://127.0.0.1:11434/v1' }, keyed: false },
  'openai-compatible': { provider: { type: 'openai-compatible' }, keyed: false },
}

/**
 * The ladders with one more rung each: what serves a strength already stays first, unless `first` is said. A rung of the
 * same provider is replaced in its place.
 */
export const withRungs = (
  ladders: Ladders,
  name: string,
  models: Readonly<Partial<Record<Strength, string>>>,
  first = false,
): Ladders => {
  const next: Ladders = { ...ladders }
  for (const strength of strengths) {
    const model = models[strength]
    if (model === undefined) continue
    const rung = `${name}/${model}`
    const rungs = (ladders[strength] ?? []).filter((one) => one !== rung)
    const at = rungs.findIndex((one) => one.startsWith(`${name}/`))
    if (first) next[strength] = [rung, ...rungs]
    else if (at >= 0) next[strength] = rungs.with(at, rung)
    else next[strength] = [...rungs, rung]
  }
  return next
}

export const withoutProvider = (ladders: Ladders, name: string): Ladders =>
  Object.fromEntries(
    Object.entries(ladders).map(([strength, rungs]) => [
      strength,
      (rungs ?? []).filter((rung) => !rung.startsWith(`${name}/`)),
    ]),
  )
