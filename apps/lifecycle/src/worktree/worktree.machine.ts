import { worktreeStates } from '#common/contract/worktree.schema.js'
import { defineMachine } from '#common/kernel/machine.js'

/**
 * The worktree of a node. What is on its way (`creating`, `closing`, `abandoning`) is durable before git is touched, so
 * that whoever leads next carries it on; git's own steps may be repeated.
 */
export const worktreeMachine = defineMachine({
  name: 'worktree',
  states: worktreeStates,
  initial: 'creating',
  table: {
    opened: { from: ['creating'], to: 'open' },
    fail: { from: ['creating'], to: 'abandoned' },
    close: { from: ['open'], to: 'closing' },
    closed: { from: ['closing'], to: 'closed' },
    abandon: { from: ['creating', 'open'], to: 'abandoning' },
    abandoned: { from: ['abandoning'], to: 'abandoned' },
  },
})

export type WorktreeEvent = (typeof worktreeMachine.events)[number]
