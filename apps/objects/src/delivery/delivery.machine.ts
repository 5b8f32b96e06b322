import { deliveryStates } from '#common/contract/object.schema.js'
import { defineMachine } from '#common/kernel/machine.js'

/**
 * A delivery that the daemon sends goes through all of it; one of a queue is `pending` until it is acknowledged. `exhaust`:
 * no try is left. `redirect`: the receiver is another one, or somewhere else. Acknowledging what was acknowledged changes
 * nothing.
 */
export const deliveryMachine = defineMachine({
  name: 'delivery',
  states: deliveryStates,
  initial: 'pending',
  table: {
    acknowledge: { from: 'any', to: 'acked' },
    fail: { from: ['pending', 'failed'], to: 'failed' },
    exhaust: { from: ['pending', 'failed'], to: 'dead' },
    replay: { from: ['dead'], to: 'failed' },
    redirect: { from: ['pending', 'failed', 'dead'], to: 'pending' },
  },
})
