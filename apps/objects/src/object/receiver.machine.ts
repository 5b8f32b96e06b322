import { defineMachine } from '#common/kernel/machine.js'

/**
 * Whether the daemon sends to a receiver. `give_up`: it ran out of tries for a delivery, or was told that nobody is there
 * any more; what comes meanwhile waits. Its owner may have paused it while that try was under way.
 */
export const receiverMachine = defineMachine({
  name: 'receiver',
  states: ['active', 'paused'],
  initial: 'active',
  table: {
    send: { from: ['active'], to: 'kept' },
    pause: { from: ['active', 'paused'], to: 'paused', set: { reason: 'asked' } },
    give_up: { from: ['active', 'paused'], to: 'paused' },
    resume: { from: ['active', 'paused'], to: 'active', set: { reason: null } },
  },
})
