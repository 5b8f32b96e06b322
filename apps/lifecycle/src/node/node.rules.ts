import type { NodeStatus } from '#common/contract/node.schema.js'
import { SvcError } from '#common/kernel/errors.js'

const all = ['active', 'idle', 'done', 'dead', 'canceled'] as const
const notCanceled = ['active', 'idle', 'done', 'dead'] as const
const open = ['active', 'idle'] as const

/**
 * The statuses in which each operation on a node is taken; in any other it answers `illegal_transition` and names both.
 * What it does to a node that takes it stands in `node.effects.ts`.
 */
export const nodeRules = {
  message: notCanceled,
  interrupt: open,
  cancel: notCanceled,
  update: notCanceled,
  /** A child below it, or a root that it makes. */
  spawn: notCanceled,
  fork: all,
  revive: all,
  promote: notCanceled,
  demote: notCanceled,
  yield: open,
  wait: ['active'],
  /** Now, instead of when its back-off or what it is held for ends. */
  retry: ['active'],
  recycle: open,
  relaunch: open,
  submit: open,
  report: open,
  watch: notCanceled,
  /** A question to a person in its name. */
  ask: open,
  start_job: notCanceled,
  write_roadmap: notCanceled,
} as const satisfies Record<string, readonly NodeStatus[]>

export type NodeOperation = keyof typeof nodeRules

/** @throws SvcError illegal_transition, with the state and the operation */
export const requireLegal = (status: NodeStatus, operation: NodeOperation, message?: string): void => {
  const legal: readonly NodeStatus[] = nodeRules[operation]
  if (legal.includes(status)) return
  throw new SvcError('illegal_transition', message ?? `A node that is ${status} doesn't take ${operation}.`, {
    state: status,
    event: operation,
    legal,
  })
}
