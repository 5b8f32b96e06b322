import { type NodeAct, type NodeEffect, nodeEffects } from '../../apps/lifecycle/src/node/node.effects.js'
import type { NodeOperation } from '../../apps/lifecycle/src/node/node.rules.js'
import { type NodeCreate, routes } from '../../libs/common/src/contract/index.js'
import type { Call } from './edge.js'
import type { Staged } from './node-stage.js'

interface Asking {
  readonly body?: (node: Staged, other: Staged) => unknown
  /** Whether the node itself asks, by its token. */
  readonly own?: true
  /** The path names something else than the node. */
  readonly elsewhere?: true
  /** How a node that can take it is made. */
  readonly made?: Partial<NodeCreate>
}

const page = { id: 'way', kind: 'decision', title: 'Which way?', options: [{ id: 'a', label: 'Left' }] }

/** A request of each operation on a node. */
const asking: Record<NodeAct, Asking> = {
  message: { body: () => ({ body: 'hello' }) },
  interrupt: {},
  cancel: {},
  update: { body: () => ({ name: 'renamed' }) },
  promote: { body: () => ({}) },
  demote: {},
  write_roadmap: { body: () => ({ text: 'first this, then that' }), made: { mode: 'orchestrator' } },
  spawn: {
    body: ({ id }) => ({ prompt: 'help', parent_id: id, engine: 'exec', exec: { argv: ['true'] } }),
    elsewhere: true,
  },
  fork: { body: () => ({}) },
  revive: { body: () => ({}) },
  retry: {},
  yield: { body: () => ({ note: 'mind the gap' }) },
  wait: { body: () => ({ reason: 'the tide' }), own: true },
  report: { body: () => ({ kind: 'update', body: 'half of it' }), own: true },
  final: { body: () => ({ kind: 'final', body: 'all of it' }), own: true },
  submit: { body: () => ({ value: 42 }) },
  recycle: { body: () => ({}) },
  relaunch: { body: () => ({}) },
  watch: { body: ({ id }, other) => ({ subscriber: other.id, publisher: id }), elsewhere: true },
  ask: { body: ({ id }) => ({ kind: 'deck', title: 'A way', pages: [page], node_id: id }), elsewhere: true },
  start_job: { body: () => ({ command: 'true' }) },
}

export const effectOf = (act: NodeAct): NodeEffect => nodeEffects[act]
export const ruleOf = (act: NodeAct): NodeOperation => effectOf(act).rule ?? (act as NodeOperation)
export const madeFor = (act: NodeAct): Partial<NodeCreate> => asking[act].made ?? {}
export const successOf = (act: NodeAct): number =>
  routes.find(({ name }) => name === effectOf(act).route)?.status ?? 200

/** @param other another node, where the operation takes two */
export const callOf = (act: NodeAct, node: Staged, other: Staged): Call => {
  const { body, own, elsewhere } = asking[act]
  return {
    operation: effectOf(act).route,
    ...(!elsewhere && { at: { id: node.id } }),
    ...(body && { body: body(node, other) }),
    ...(own && { token: node.token }),
  }
}
