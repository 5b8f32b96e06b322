import type { z } from 'zod'
import { type readiness, type Strength, strengths } from '#common/contract/index.js'
import { isoTime } from '#common/kernel/clock.js'
import { splitRung } from '../config/config.rules.js'
import { ladderFor } from '../config/ladder.js'
import type { Provider } from '../provider/provider.directory.js'
import type { ProviderHealth } from '../provider/provider.health.js'
import type { ProviderRegistry, Providers } from '../provider/provider.registry.js'
import type { ProviderProbe } from './provider.probe.js'
import { remedyFor } from './remedy.js'

export type Readiness = z.infer<typeof readiness>
type ProviderState = Readiness['providers'][number]
type StrengthState = Readiness['strengths'][number]

/** Says which providers and strengths can serve a call, and which command mends what can't. */
export class ReadinessService {
  constructor(
    private readonly registry: ProviderRegistry,
    private readonly health: ProviderHealth,
    private readonly probe: ProviderProbe,
  ) {}

  /** From what is known already: the last calls and probes. */
  async known(): Promise<Readiness> {
    return this.#tell(await this.registry.current())
  }

  /** As `known`, after providers of which nothing was heard for a while have been asked. */
  async probed(): Promise<Readiness> {
    const providers = await this.registry.current()
    await this.probe.refresh(
      [...providers.byName.values()].filter((one) => this.registry.obstacle(providers, one) === null),
    )
    return this.#tell(providers)
  }

  #tell(providers: Providers): Readiness {
    const told = [...providers.byName.values()].map((provider) => this.#provider(providers, provider))
    const served = strengths.map((strength) => this.#strength(providers, strength))
    const ready = served.some(({ model }) => model !== null)
    return { ready, providers: told, strengths: served, remedy: ready ? null : this.#remedy(providers) }
  }

  #provider(providers: Providers, provider: Provider): ProviderState {
    const obstacle = this.registry.obstacle(providers, provider)
    const { state, reason, checkedAt } = this.health.of(provider.name)
    return {
      provider: provider.name,
      type: provider.type,
      configured: obstacle === null,
      usable: obstacle === null && state !== 'failing',
      reason: obstacle ?? reason,
      checked_at: checkedAt === null ? null : isoTime(checkedAt),
    }
  }

  /** The model that would be called first. One that failed last is tried again only when no other is left. */
  #strength(providers: Providers, strength: Strength): StrengthState {
    const possible = (name: string): boolean => {
      const provider = providers.byName.get(name)
      return provider !== undefined && this.registry.obstacle(providers, provider) === null
    }
    const ladder = ladderFor(strength, providers.config.document, possible)
    const rungs = ladder.rungs.filter((rung) => possible(splitRung(rung).provider))
    const healthy = rungs.find((rung) => this.health.of(splitRung(rung).provider).state !== 'failing')
    const [first] = rungs
    if (healthy !== undefined) return { strength, model: healthy, reason: null }
    if (first !== undefined) return { strength, model: first, reason: this.health.of(splitRung(first).provider).reason }
    return {
      strength,
      model: null,
      reason: ladder.rungs.length ? 'no provider of its ladder can be called' : 'no model is configured',
    }
  }

  #remedy(providers: Providers): string {
    return remedyFor(providers, (provider) => this.registry.obstacle(providers, provider))
  }
}
