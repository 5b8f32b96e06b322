import type { LedgerKind, LedgerState } from '#common/contract/ledger.operations.js'
import type { Horizon } from '../canvas/horizon.js'

/** Which part of the ledger is asked for: entries before a position in the order of (at, id), the newest first. */
export interface LedgerView {
  readonly horizon: Horizon
  readonly kind: LedgerKind | undefined
  readonly state: LedgerState | undefined
  readonly nodeId: string | undefined
  readonly appId: string | undefined
  readonly since: Date | undefined
  readonly before: { readonly at: Date; readonly id: string } | undefined
  readonly limit: number
}

/** The expressions of a statement that tell an entry's place and whom it is about. */
export interface Columns {
  readonly at: string
  readonly id: string
  readonly node: string
  readonly app: string
}

/**
 * Conditions of a view, but for its horizon. The place is compared by time first, so that an index over the time serves;
 * ids are compared byte by byte, as whoever merges the parts does.
 */
export const placed = (view: LedgerView, put: (value: unknown) => string, columns: Columns): string[] => {
  const { at, id, node, app } = columns
  const { before, since, nodeId, appId } = view
  const time = before && put(before.at)
  return [
    ...(before ? [`${at} <= ${time}`, `(${at} < ${time} OR ${id} COLLATE "C" < ${put(before.id)})`] : []),
    ...(since ? [`${at} >= ${put(since)}`] : []),
    ...(nodeId === undefined ? [] : [`${node} = ${put(nodeId)}`]),
    ...(appId === undefined ? [] : [`${app} = ${put(appId)}`]),
  ]
}
