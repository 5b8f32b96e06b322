import type { contract, InputOf, OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { toEntry } from './ledger.entry.js'
import type { Bound, LedgerRepository } from './ledger.repository.js'

type Read = (typeof contract)['scheduler.ledger.read']

const ownId = /^(cron_\w{26}):(\d{1,15})$/

/**
 * A position in the order of (at, id) as one of our lines. An id of another service stands before or after all of ours, by
 * its first letters.
 */
const boundOf = (before: InputOf<Read>['before']): Bound | undefined => {
  if (!before) return undefined
  const at = new Date(before.at)
  const [, cronId, slot] = ownId.exec(before.id) ?? []
  if (cronId !== undefined) return { at, cronId, slot: new Date(Number(slot)) }
  return before.id > 'cron_' ? { at, inclusive: true } : { at }
}

/** What did not go as planned with the slots of schedules. */
export class LedgerService {
  constructor(
    private readonly database: Database,
    private readonly ledger: LedgerRepository,
  ) {}

  async read(ctx: Context, input: InputOf<Read>): Promise<OutputOf<Read>> {
    if ((input.kind !== undefined && input.kind !== 'slot') || input.object_id !== undefined) return { entries: [] }
    const rows = await this.ledger.page(this.database, ctx, {
      state: input.state,
      nodeId: input.node_id,
      cronId: input.cron_id,
      appId: input.app_id,
      since: input.since === undefined ? undefined : new Date(input.since),
      bound: boundOf(input.before),
      limit: input.limit,
    })
    return { entries: rows.map(toEntry) }
  }
}
