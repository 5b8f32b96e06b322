import type { Database } from '#common/kernel/database/database.js'
import { SvcError } from '#common/kernel/errors.js'
import type { ProviderRegistry } from '../provider/provider.registry.js'
import type { SpendRepository } from './spend.repository.js'

/** Keeps the daily limit of the config. Calls that run at once may each pass before any of them is accounted for. */
export class BudgetService {
  constructor(
    private readonly database: Database,
    private readonly registry: ProviderRegistry,
    private readonly spend: SpendRepository,
  ) {}

  /** @throws SvcError budget_exhausted when today's calls have cost the limit. */
  async check(): Promise<void> {
    const { config } = await this.registry.current()
    const limit = config.document.limits.cost_usd_per_day
    if (limit === undefined) return
    const spent = await this.spend.costToday(this.database)
    if (spent < limit) return
    throw new SvcError('budget_exhausted', `Today's model calls have cost ${spent} of ${limit} US dollars.`, {
      limit: 'cost_usd_per_day',
      limit_usd: limit,
      spent_usd: spent,
      remedy: 'Raise `limits.cost_usd_per_day` with `svc model config`, or wait for midnight UTC.',
    })
  }
}
