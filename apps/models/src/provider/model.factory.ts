import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider'
import { secretOf } from '../credential/credential.material.js'
import type { Provider } from './provider.directory.js'

type OpenModel = (model: string) => LanguageModelV4

/** What a provider's kind needs besides the conversation. */
export interface Dialect {
  /** Name under which it keeps metadata of parts; null: it keeps none. */
  readonly metadataKey: string | null
  /** Whether the result of a tool may hold images; else they follow it as a message of the user. */
  readonly imagesInResults: boolean
  readonly options: SharedV4ProviderOptions
}

/** Name that all openai-compatible providers have inside the AI SDK, so that a conversation can move between them. */
const compatible = 'compatible'

/**
 * OpenAI: `store: false` keeps our conversations out of its store and makes it hand out encrypted thoughts, so that a
 * recorded conversation goes on by itself, under any account. Schemas of callers rarely fit its strict subset.
 */
export const dialectOf = (provider: Provider): Dialect => {
  switch (provider.type) {
    case 'openai':
      return {
        metadataKey: 'openai',
        imagesInResults: true,
        options: { openai: { store: false, strictJsonSchema: false } },
      }
    case 'anthropic':
      return { metadataKey: 'anthropic', imagesInResults: true, options: {} }
    case 'google':
      return { metadataKey: 'google', imagesInResults: true, options: {} }
    case 'openai-compatible':
      return { metadataKey: null, imagesInResults: false, options: { [compatible]: { strictJsonSchema: false } } }
  }
}

/** Google's keys go in a header of their own; an OAuth token takes the place of that header. */
const googleFetch =
  (token: string): typeof fetch =>
  (input, init) => {
    const headers = new Headers(init?.headers)
    headers.delete('x-goog-api-key')
    headers.set('authorization', `Bearer ${token}`)
    return fetch(input, { ...init, headers })
  }

const open = async (provider: Provider): Promise<OpenModel> => {
  const { type, name, baseUrl: baseURL, material } = provider
  const secret = material && secretOf(material)
  const at = baseURL === undefined ? {} : { baseURL }
  switch (type) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai')
      const openai = createOpenAI({ apiKey: secret ?? 'none', ...at })
      return (model) => openai.responses(model)
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      const anthropic = createAnthropic({
        ...(material?.kind === 'oauth' ? { authToken: secret as string } : { apiKey: secret ?? 'none' }),
        ...at,
      })
      return (model) => anthropic.languageModel(model)
    }
    case 'google': {
      const { createGoogle } = await import('@ai-sdk/google')
      const oauth = material?.kind === 'oauth' ? { fetch: googleFetch(secret as string) } : {}
      const google = createGoogle({ apiKey: secret ?? 'none', ...oauth, ...at })
      return (model) => google.languageModel(model)
    }
    case 'openai-compatible': {
      if (baseURL === undefined) throw new Error(`the provider ${name} has no base URL`)
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const provider = createOpenAICompatible({
        name: compatible,
        baseURL,
        includeUsage: true,
        supportsStructuredOutputs: true,
        ...(secret !== undefined && { apiKey: secret }),
      })
      return (model) => provider.languageModel(model) as LanguageModelV4
    }
  }
}

interface Opened {
  readonly stamp: string
  readonly open: Promise<OpenModel>
  readonly models: Map<string, LanguageModelV4>
}

/** Models kept a provider: names come from callers, who may make them up. */
const KEPT_MODELS = 64

/**
 * Models of the AI SDK by provider. A provider's code is loaded at its first call (about 25 MB and 80 ms for the first
 * of them) and kept until its address or credential changes; a model is kept, since making one costs half a millisecond.
 */
export class ModelFactory {
  readonly #opened = new Map<string, Opened>()

  async model(provider: Provider, name: string): Promise<LanguageModelV4> {
    const opened = this.#of(provider)
    const known = opened.models.get(name)
    if (known) return known
    const model = (await opened.open)(name)
    if (opened.models.size >= KEPT_MODELS) opened.models.clear()
    opened.models.set(name, model)
    return model
  }

  #of(provider: Provider): Opened {
    const known = this.#opened.get(provider.name)
    if (known?.stamp === provider.stamp) return known
    const opened = { stamp: provider.stamp, open: open(provider), models: new Map<string, LanguageModelV4>() }
    this.#opened.set(provider.name, opened)
    opened.open.catch(() => {
      if (this.#opened.get(provider.name) === opened) this.#opened.delete(provider.name)
    })
    return opened
  }
}
