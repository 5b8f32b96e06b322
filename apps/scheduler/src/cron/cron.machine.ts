import { cronStatuses } from '#common/contract/cron.schema.js'
import { defineMachine } from '#common/kernel/machine.js'

/**
 * The status of a schedule. `complete`: no slot is left, and the newest one that was fired did not fail; `fail`: it did,
 * or none was fired at all. One that is over can still be fired by hand, which moves nothing here.
 */
export const cronMachine = defineMachine({
  name: 'cron',
  states: cronStatuses,
  initial: 'active',
  table: {
    fire: { from: ['active'], to: 'kept' },
    pause: { from: ['active'], to: 'paused', set: { pause_reason: 'asked' } },
    give_up: { from: ['active'], to: 'paused', set: { pause_reason: 'failures' } },
    resume: { from: ['paused'], to: 'active', set: { pause_reason: null, consecutive_failures: 0 } },
    complete: { from: ['active', 'paused'], to: 'completed', set: { pause_reason: null } },
    fail: { from: ['active', 'paused'], to: 'failed', set: { pause_reason: null } },
  },
})

export type CronEvent = (typeof cronMachine.events)[number]
