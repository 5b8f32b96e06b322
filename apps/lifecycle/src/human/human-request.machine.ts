import { humanRequestStatuses } from '#common/contract/human.schema.js'
import { defineMachine } from '#common/kernel/machine.js'

/**
 * The status of what a person is asked. The first end stands: no event leads out of one. `expire` is the deadline, with
 * or without something that silence decides.
 */
export const humanRequestMachine = defineMachine({
  name: 'request',
  states: humanRequestStatuses,
  initial: 'pending',
  table: {
    respond: { from: ['pending'], to: 'answered' },
    dismiss: { from: ['pending'], to: 'dismissed' },
    cancel: { from: ['pending'], to: 'canceled' },
    expire: { from: ['pending'], to: 'expired' },
    replace: { from: ['pending'], to: 'kept' },
  },
})

export type HumanRequestEvent = (typeof humanRequestMachine.events)[number]
