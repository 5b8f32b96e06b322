import { fireStatuses } from '#common/contract/cron.schema.js'
import { defineMachine } from '#common/kernel/machine.js'

/**
 * One slot, from the moment at which it was decided about. `begin` is the acceptance by who does the work; `succeed` and
 * the like follow that work to its end. `again` puts off a start that could not be asked for; `lose` is a command that was
 * cut off unseen, which is never run again.
 */
export const fireMachine = defineMachine({
  name: 'fire',
  states: fireStatuses,
  initial: 'starting',
  table: {
    wait: { from: ['starting'], to: 'queued' },
    release: { from: ['queued'], to: 'starting' },
    again: { from: ['starting'], to: 'kept' },
    begin: { from: ['starting'], to: 'running' },
    succeed: { from: ['starting', 'running'], to: 'succeeded' },
    fail: { from: ['starting', 'running'], to: 'failed' },
    cancel: { from: ['queued', 'starting', 'running'], to: 'canceled' },
    lose: { from: ['starting', 'running'], to: 'unknown' },
    skip: { from: ['queued', 'starting'], to: 'skipped' },
    miss: { from: ['queued', 'starting'], to: 'missed' },
    coalesce: { from: ['starting'], to: 'coalesced' },
  },
})
