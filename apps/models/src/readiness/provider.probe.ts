import type { Clock } from '#common/kernel/clock.js'
import { secretOf, secretsOf } from '../credential/credential.material.js'
import type { Provider } from '../provider/provider.directory.js'
import { failureOf } from '../provider/provider.failure.js'
import type { ProviderHealth } from '../provider/provider.health.js'

/** Longest time in ms of one probe, and how old the last news of a provider must be for another. */
const PROBE_WITHIN = 2000
const NEWS_LASTS = 30_000
/** The same for one that failed: nodes may be held until it answers. */
const BAD_NEWS_LASTS = 3000

const baseUrls: Record<Exclude<Provider['type'], 'openai-compatible'>, string> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
}

const headersOf = ({ type, material }: Provider): Record<string, string> => {
  const version: Record<string, string> = type === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {}
  if (!material) return version
  const secret = secretOf(material)
  if (material.kind === 'api_key' && type === 'anthropic') return { ...version, 'x-api-key': secret }
  if (material.kind === 'api_key' && type === 'google') return { 'x-goog-api-key': secret }
  return { ...version, authorization: `Bearer ${secret}` }
}

/** Asks providers for their list of models, which costs nothing, to learn whether address and key are good. */
export class ProviderProbe {
  readonly #under = new Map<string, Promise<void>>()

  constructor(
    private readonly health: ProviderHealth,
    private readonly clock: Clock,
  ) {}

  /** Probes those of which nothing was heard for 30 s, or 3 s since a failure; one probe a provider at a time, 2 s at most. */
  async refresh(providers: readonly Provider[]): Promise<void> {
    const now = this.clock.now()
    const stale = providers.filter(({ name }) => {
      const { checkedAt, state } = this.health.of(name)
      return checkedAt === null || now - checkedAt >= (state === 'failing' ? BAD_NEWS_LASTS : NEWS_LASTS)
    })
    await Promise.all(stale.map((provider) => this.#once(provider)))
  }

  #once(provider: Provider): Promise<void> {
    const under = this.#under.get(provider.name)
    if (under) return under
    const probe = this.#probe(provider).finally(() => this.#under.delete(provider.name))
    this.#under.set(provider.name, probe)
    return probe
  }

  async #probe(provider: Provider): Promise<void> {
    const base = provider.baseUrl ?? (provider.type === 'openai-compatible' ? undefined : baseUrls[provider.type])
    if (base === undefined) return
    try {
      const response = await fetch(`${base}/models`, {
        headers: headersOf(provider),
        signal: AbortSignal.timeout(PROBE_WITHIN),
        redirect: 'manual',
      })
      const responseBody = response.ok ? '' : await response.text()
      // a server without a list of models may still answer calls
      if (response.ok || response.status === 404 || response.status === 405) this.health.succeeded(provider.name)
      else
        this.#note(provider, {
          message: response.statusText,
          statusCode: response.status,
          responseBody,
          responseHeaders: {},
        })
    } catch (error) {
      this.#note(provider, error)
    }
  }

  #note(provider: Provider, error: unknown): void {
    const failure = failureOf(error, this.clock.now(), secretsOf(provider.material))
    this.health.observed(provider.name, failure.reason, failure.message)
  }
}
