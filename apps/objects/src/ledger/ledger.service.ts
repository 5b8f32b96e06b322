import type { contract, InputOf, OutputOf } from '#common/contract/index.js'
import type { LedgerEntry, LedgerState } from '#common/contract/ledger.operations.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { failureEntry, heldEntry, refusalEntry, restingEntry } from './ledger.entry.js'
import type { LedgerFilter, LedgerRepository } from './ledger.repository.js'

type Input = InputOf<(typeof contract)['objects.ledger.read']>
type Output = OutputOf<(typeof contract)['objects.ledger.read']>

/** The newest first; of those that became known at one moment the last by its id, byte by byte, as all parts are merged. */
const newestFirst = (a: LedgerEntry, b: LedgerEntry): number => {
  if (a.at !== b.at) return a.at < b.at ? 1 : -1
  return a.id === b.id ? 0 : a.id < b.id ? 1 : -1
}

/** Deliveries and publications that did not go as planned. */
export class LedgerService {
  constructor(
    private readonly database: Database,
    private readonly ledger: LedgerRepository,
    private readonly clock: Clock,
  ) {}

  async read(ctx: Context, { before, ...input }: Input): Promise<Output> {
    if ((input.kind !== undefined && input.kind !== 'delivery') || input.cron_id !== undefined) return { entries: [] }
    const filter: LedgerFilter = {
      actor: ctx.actor,
      state: input.state,
      nodeId: input.node_id,
      objectId: input.object_id,
      appId: input.app_id,
      since: input.since === undefined ? undefined : new Date(input.since),
      until: before ? new Date(before.at) : undefined,
      limit: input.limit,
      now: new Date(this.clock.now()),
    }
    const isAsked = (...states: LedgerState[]): boolean => input.state === undefined || states.includes(input.state)
    const [failures, refusals, resting, held] = await Promise.all([
      isAsked('failed', 'waiting') ? this.ledger.failures(this.database, filter) : [],
      isAsked('omitted') ? this.ledger.refusals(this.database, filter) : [],
      isAsked('waiting') ? this.ledger.resting(this.database, filter) : [],
      isAsked('waiting') ? this.ledger.held(this.database, filter) : [],
    ])
    const entries = [
      ...failures.map(failureEntry),
      ...refusals.map(refusalEntry),
      ...resting.map(restingEntry),
      ...held.map(heldEntry),
    ]
    return {
      entries: entries
        .filter((entry) => before === null || newestFirst(before as LedgerEntry, entry) < 0)
        .sort(newestFirst)
        .slice(0, input.limit),
    }
  }
}
