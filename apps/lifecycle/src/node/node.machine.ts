import { nodeStatuses } from '#common/contract/node.schema.js'
import { defineMachine } from '#common/kernel/machine.js'

/**
 * The status of a node. `active` means that a broker is live or owed, not that it is generating; only `dead` is a
 * fault. `intent` says why the node last stopped.
 */
export const nodeMachine = defineMachine({
  name: 'node',
  states: nodeStatuses,
  initial: 'active',
  table: {
    finalize: { from: ['active', 'idle'], to: 'done', set: { intent: 'done' } },
    cancel: { from: ['active', 'idle', 'done', 'dead'], to: 'canceled', set: { intent: null } },
    crash: { from: ['active', 'idle'], to: 'dead' },
    yield: { from: ['active', 'idle'], to: 'kept', set: { intent: 'refresh' } },
    release: { from: ['active'], to: 'idle', set: { intent: 'idle_release' } },
    revive: { from: 'any', to: 'active', set: { intent: null } },
  },
})

export type NodeMachineEvent = (typeof nodeMachine.events)[number]
