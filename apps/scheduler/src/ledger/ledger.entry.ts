import { cronLimits, type FireCause } from '#common/contract/cron.schema.js'
import type { LedgerEntry } from '#common/contract/ledger.operations.js'
import { workKeyOf } from '../fire/fire.record.js'
import type { LedgerRow } from './ledger.repository.js'

const units: readonly (readonly [string, number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/** For a person: `42 seconds`, `3 hours`, rounded down. */
export const spanOf = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [unit, size] = units.find(([, each]) => seconds >= each) ?? ['second', 1]
  const count = Math.floor(seconds / size)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

const because = ({ error }: LedgerRow): string => (error ? `: ${error.message}` : '.')

const reason = ({ error }: LedgerRow): string => (error ? ` (${error.code}): ${error.message}` : '.')

const words: Readonly<Record<FireCause, (row: LedgerRow) => string>> = {
  late: (row) => (row.fired_at ? lateness(row) : 'It is late, and not begun yet.'),
  overlap: () => 'Left out, since the work of an earlier slot still went on (overlap: skip).',
  queue_full: () => `Left out, since ${cronLimits.queued} slots waited for their turn already.`,
  paused: () => 'Left out, since the schedule was paused.',
  policy: () => 'Nothing was running to fire it, and its schedule makes up for no slot that is missed (missed: skip).',
  window: (row) =>
    `It could not be fired in time, and then was older than its schedule makes up for (catchup_window_s)${because(row)}`,
  cap: () =>
    `Nothing was running to fire it, and of slots that are missed only the newest ${cronLimits.caughtUp} are made up for.`,
  coalesced: () => 'Nothing was running to fire it; one later slot was fired for all that were missed (missed: once).',
  refused: (row) => `It was refused${reason(row)}`,
  work_failed: (row) => `Its work failed${because(row)}`,
  work_canceled: () => 'Its work was canceled.',
  outcome_unknown: (row) =>
    `Nobody saw whether it was done, and it is not run again by itself: look at what it left${because(row)}`,
  cron_ended: () => 'It was not begun yet when its schedule was deleted.',
}

const lateness = ({ fired_at, due_at }: LedgerRow): string =>
  `It was fired ${spanOf((fired_at ?? due_at).getTime() - due_at.getTime())} late.`

/** Why, for a person. One without a cause waits to be begun. */
export const messageOf = (row: LedgerRow): string => {
  if (row.cause !== null) return words[row.cause](row)
  return `It could not be begun yet, and is tried again${because(row)}`
}

const openStates = new Set<LedgerRow['ledger']>(['failed', 'unknown', 'omitted'])

/**
 * What did not happen, or failed, can be done now while its schedule is there. What waits or came late needs nobody, nor
 * does what a later slot was fired for.
 */
const actionOf = (row: LedgerRow): LedgerEntry['action'] =>
  row.has_cron && openStates.has(row.ledger) && row.cause !== 'coalesced'
    ? { method: 'POST', path: `/v1/crons/${row.cron_id}/run`, command: `svc cron run ${row.cron_id}` }
    : null

export const toEntry = (row: LedgerRow): LedgerEntry => ({
  id: workKeyOf(row),
  kind: 'slot',
  state: row.ledger,
  cause: row.cause ?? 'waiting',
  message: messageOf(row),
  at: row.noted_at.toISOString(),
  planned_at: row.due_at.toISOString(),
  happened_at: row.fired_at?.toISOString() ?? null,
  lateness_ms: row.fired_at && row.fired_at.getTime() - row.due_at.getTime(),
  count: row.slots,
  cron_id: row.cron_id,
  node_id: row.node_id ?? row.owner_node_id,
  request_id: null,
  object_id: null,
  name: row.name,
  app_id: row.app_id,
  action: actionOf(row),
})
