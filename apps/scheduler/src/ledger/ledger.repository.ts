import type { LedgerState } from '#common/contract/ledger.operations.js'
import type { Context } from '#common/kernel/context.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { seenBy } from '../cron/cron.access.js'
import type { FireRecord } from '../fire/fire.record.js'

/** A line with what it needs of its schedule. */
export interface LedgerRow extends FireRecord {
  readonly ledger: LedgerState
  /** Whether its schedule is still there, and can be fired by hand. */
  readonly has_cron: boolean
}

/** Below what lines are read: the order is that of (noted_at, cron_id, slot), descending. */
export type Bound =
  | { readonly at: Date }
  | { readonly at: Date; readonly inclusive: true }
  | { readonly at: Date; readonly cronId: string; readonly slot: Date }

export interface LedgerFilter {
  readonly state: LedgerState | undefined
  readonly nodeId: string | undefined
  readonly cronId: string | undefined
  readonly appId: string | undefined
  readonly since: Date | undefined
  readonly bound: Bound | undefined
  readonly limit: number
}

const newestFirst = 'f.noted_at DESC, f.cron_id DESC, f.slot DESC'

type Put = (value: unknown) => string

const below = (bound: Bound | undefined, put: Put): string[] => {
  if (!bound) return []
  if ('slot' in bound) {
    return [`(f.noted_at, f.cron_id, f.slot) < (${put(bound.at)}, ${put(bound.cronId)}, ${put(bound.slot)})`]
  }
  return [`f.noted_at ${'inclusive' in bound ? '<=' : '<'} ${put(bound.at)}`]
}

/** Lines of scheduler.fires that are in the ledger. */
export class LedgerRepository {
  page(reader: Reader, ctx: Context, filter: LedgerFilter): Promise<LedgerRow[]> {
    const values: unknown[] = [filter.limit]
    const put: Put = (value) => `$${values.push(value)}`
    const equals = (column: string, value: unknown): string[] =>
      value === undefined ? [] : [`f.${column} = ${put(value)}`]
    const node = filter.nodeId === undefined ? undefined : put(filter.nodeId)
    const conditions = [
      'f.ledger IS NOT NULL',
      ...seenBy(ctx.actor, put, 'f'),
      ...equals('ledger', filter.state),
      ...equals('cron_id', filter.cronId),
      ...equals('app_id', filter.appId),
      ...(node === undefined ? [] : [`(f.owner_node_id = ${node} OR f.node_id = ${node})`]),
      ...(filter.since ? [`f.noted_at >= ${put(filter.since)}`] : []),
      ...below(filter.bound, put),
    ]
    // schedules are looked up for the lines of the page alone
    return reader.query<LedgerRow>(
      `SELECT f.*, c.id IS NOT NULL AS has_cron
         FROM (SELECT f.* FROM scheduler.fires f WHERE ${conditions.join(' AND ')} ORDER BY ${newestFirst} LIMIT $1) f
         LEFT JOIN scheduler.crons c ON c.id = f.cron_id ORDER BY ${newestFirst}`,
      values,
    )
  }
}
