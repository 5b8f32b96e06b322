import type { LedgerEntry } from '#common/contract/ledger.operations.js'
import { isoTime } from '#common/kernel/clock.js'
import { deliveryIdOf } from '../ids.js'
import type { FailureRow, HeldRow, RefusalRow, RestingRow } from './ledger.repository.js'

const objectIdOf = (id: string): string | null => (id.startsWith('obj_') ? id : null)
const nodeIdOf = (id: string): string | null => (id.startsWith('node_') ? id : null)

const times = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** As one line: how somebody else's answer begins is not ours to choose. */
const told = (text: string): string => text.replace(/\s+/g, ' ').replace(/\.?$/, '.')

const resume = (id: string): LedgerEntry['action'] => ({
  method: 'POST',
  path: `/v1/custom-objects/${id}/resume`,
  command: `svc custom-object resume ${id}`,
})

const failureAction = ({ receiver_id: id, seq, state, kind, reason }: FailureRow): LedgerEntry['action'] => {
  if (kind === 'node' || kind === 'queue') return null
  if (state === 'failed') return reason === null ? null : resume(id)
  return {
    method: 'POST',
    path: `/v1/custom-objects/${id}/deliveries/replay`,
    command: `svc custom-object replay ${id} ${deliveryIdOf(id, seq)}`,
  }
}

const failureMessage = ({ state, attempt, next_attempt_at, reason, last_error }: FailureRow): string => {
  const tried = `Tried ${times(attempt, 'time')} in vain, at last: ${told(last_error)}`
  if (state === 'dead') return `${tried} It is given up until somebody replays or acknowledges it.`
  if (reason !== null) return `${tried} Its receiver is paused, and is sent nothing until it is resumed.`
  return next_attempt_at ? `${tried} The next try is at ${isoTime(next_attempt_at.getTime())}.` : tried
}

/** A delivery that did not get through yet, or was given up. */
export const failureEntry = (row: FailureRow): LedgerEntry => ({
  id: deliveryIdOf(row.receiver_id, row.seq),
  kind: 'delivery',
  state: row.state === 'dead' ? 'failed' : 'waiting',
  cause: row.state === 'dead' ? 'gave_up' : row.reason === null ? 'retrying' : 'paused',
  message: failureMessage(row),
  at: isoTime(row.noted_at.getTime()),
  planned_at: isoTime(row.created_at.getTime()),
  happened_at: null,
  lateness_ms: null,
  count: 1,
  cron_id: null,
  node_id: nodeIdOf(row.receiver_id),
  request_id: null,
  object_id: objectIdOf(row.receiver_id),
  name: row.name,
  app_id: row.app_id,
  action: failureAction(row),
})

/** What waits for a node that takes nothing now, all of it in one line. */
export const restingEntry = ({ receiver_id: id, ...row }: RestingRow): LedgerEntry => ({
  id,
  kind: 'delivery',
  state: 'waiting',
  cause: 'retrying',
  message: `${times(row.pending, 'event')} not taken yet by ${id}: its box is full of unread mail, or it can't be reached. The next try is at ${isoTime(row.held_until.getTime())}.`,
  at: isoTime(row.created_at.getTime()),
  planned_at: isoTime(row.created_at.getTime()),
  happened_at: null,
  lateness_ms: null,
  count: row.pending,
  cron_id: null,
  node_id: id,
  request_id: null,
  object_id: null,
  name: null,
  app_id: null,
  action: null,
})

const pauses: Readonly<Record<HeldRow['reason'], string>> = {
  asked: 'by hand',
  gone: 'when its address answered 410 (gone)',
  dead: 'when a delivery ran out of tries',
}

/** What waits for a paused receiver and was never tried, all of it in one line. */
export const heldEntry = ({ receiver_id: id, ...row }: HeldRow): LedgerEntry => ({
  id,
  kind: 'delivery',
  state: 'waiting',
  cause: 'paused',
  message: `${row.waiting} ${row.waiting === 1 ? 'delivery' : 'deliveries'} not tried: the receiver was paused at ${isoTime(row.paused_at.getTime())}, ${pauses[row.reason]}, and is sent nothing until it is resumed.`,
  at: isoTime(row.noted_at.getTime()),
  planned_at: isoTime(row.first_at.getTime()),
  happened_at: null,
  lateness_ms: null,
  count: row.waiting,
  cron_id: null,
  node_id: nodeIdOf(id),
  request_id: null,
  object_id: objectIdOf(id),
  name: row.name,
  app_id: row.app_id,
  action: resume(id),
})

const ways: Readonly<Record<RefusalRow['kind'], string>> = {
  queue: 'Acknowledge what waits there, or raise its max_pending.',
  url: 'See why it takes nothing, or raise its max_pending.',
  argv: 'See why it takes nothing, or raise its max_pending.',
  node: 'It takes no more mail until it has read some.',
}

const refusalMessage = ({ count, name, receiver_id, kind, full, reason }: RefusalRow): string => {
  const refused = `${times(count, 'publication')} refused: ${name ?? receiver_id}`
  return full
    ? `${refused} has as many unacknowledged deliveries as it may have. ${reason === null ? ways[kind] : 'Resume it, or raise its max_pending.'}`
    : `${refused} had as many unacknowledged deliveries as it may have. It has room again, and refuses nothing now.`
}

/** Publications that were refused, all of one source for one receiver: a line that grows. */
export const refusalEntry = (row: RefusalRow): LedgerEntry => ({
  id: `${row.source_id}:${row.receiver_id}`,
  kind: 'delivery',
  state: 'omitted',
  cause: 'queue_full',
  message: refusalMessage(row),
  at: isoTime(row.last_at.getTime()),
  planned_at: isoTime(row.first_at.getTime()),
  happened_at: null,
  lateness_ms: null,
  count: row.count,
  cron_id: null,
  node_id: nodeIdOf(row.receiver_id),
  request_id: null,
  object_id: objectIdOf(row.source_id),
  name: row.source_name,
  app_id: row.app_id,
  action: row.full && row.kind !== 'node' && row.reason !== null ? resume(row.receiver_id) : null,
})
