import type { Fault } from '#common/contract/node.schema.js'
import type { NodeRecord } from '../node/node.record.js'

/** Whether a node owes work and has no process since what its fault is held for isn't there. */
export const isHeld = ({ status, broker_state, fault }: NodeRecord): boolean =>
  status === 'active' && broker_state === 'launching' && fault?.held_for !== undefined

/** The fault goes on, and is being tried: nothing holds it any more. */
export const unheld = ({ held_for: _, retry_at: __, ...fault }: Fault): Fault => fault
