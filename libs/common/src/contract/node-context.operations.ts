import { z } from 'zod'
import { nodeId, ordinal } from './common.schema.js'
import { operation } from './define.js'
import { modelChoice, node, nodeLimits, promptText } from './node.schema.js'

const byId = z.strictObject({ id: nodeId })
const owner = ['owner'] as const

const prompt = promptText.optional()

export const nodeFork = z.strictObject({
  turn: ordinal.optional().meta({
    description:
      'The last turn of the copy, one of the present context that has ended; the newest such turn unless given',
  }),
  prompt: prompt.meta({ description: 'What the copy is to do; without one it rests until its first message' }),
  name: z.string().min(1).max(nodeLimits.nameLength).optional(),
  lifecycle: z.enum(['terminal', 'resident']).optional().meta({
    description: 'Without a prompt it is resident; with one a root is resident and a child terminal, unless given',
  }),
  model: modelChoice.optional(),
  parent_id: nodeId.optional().meta({
    description: 'The parent of its source unless given; for a node that does not reach that one, itself',
  }),
  root: z.boolean().optional(),
})

/** Where the conversation of a node begins anew, goes on again, is copied or is handed to another root. */
export const nodeContextOperations = [
  operation({
    name: 'nodes.yield',
    kind: 'route',
    summary: 'Give a node a fresh context, with a note to its future self',
    description:
      'While a turn runs the fresh context begins at its end; a node that rests begins it when it is woken. What it is, its subscriptions and its unread mail stay. A program has no context: 422.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/yield',
    listeners: owner,
    gate: ['self', 'svc:act'],
    params: byId,
    body: z.strictObject({
      note: promptText.max(32 * 1024).meta({ description: 'What it should know when it comes back; at most 32 KiB' }),
    }),
    response: node,
    idempotency: 'key',
    errors: ['not_found', 'illegal_transition'],
  }),
  operation({
    name: 'nodes.revive',
    kind: 'route',
    summary: 'Bring a node back, from any state',
    description:
      'One that had ended begins a new piece of work: with `prompt`, else it is told from what it was brought back; a program is given its first prompt again. One that is at work stays so, in `fresh` mode as by `yield`; one that waits for another try is tried now. What was canceled with it stays canceled.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/revive',
    listeners: owner,
    gate: 'svc:act',
    params: byId,
    body: z.strictObject({
      mode: z.enum(['resume', 'fresh']).default('resume').meta({
        description: '`resume`: with its conversation. `fresh`: with a new one, begun from what is durable',
      }),
      prompt,
    }),
    response: z.object({
      node,
      revived: z.boolean().meta({ description: 'False when a process hosts it, or is on its way' }),
      left_canceled: z.array(nodeId).meta({ description: 'Nodes below it that stay canceled' }),
    }),
    idempotency: 'key',
    errors: ['not_found', 'illegal_transition', 'quota_exceeded'],
  }),
  operation({
    name: 'nodes.fork',
    kind: 'route',
    summary: 'Copy the conversation of a node, up to the end of a turn, to a new node',
    description:
      'The source is not touched. The copy is told whose copy it is, and that nothing which the source promised or started is its own. A program has no conversation: 422.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/fork',
    listeners: owner,
    gate: 'svc:act',
    params: byId,
    body: nodeFork,
    response: node,
    status: 201,
    idempotency: 'key',
    errors: [
      'not_found',
      'illegal_transition',
      'quota_exceeded',
      'model_not_configured',
      'sandbox_required',
      'path_outside_scope',
    ],
  }),
  operation({
    name: 'nodes.recycle',
    kind: 'route',
    summary: 'End a root with its newest report, and have a new one take its place',
    description:
      'The new root has what the old one watched, its watchers, its children and its unread mail. A node that is no root answers `illegal_transition` with the state `child`.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/recycle',
    listeners: owner,
    gate: 'svc:act',
    params: byId,
    body: z.strictObject({ prompt }),
    response: z.object({ node, recycled: nodeId }),
    idempotency: 'key',
    errors: ['not_found', 'illegal_transition'],
  }),
  operation({
    name: 'nodes.relaunchRoot',
    kind: 'route',
    summary: 'Boot a new root, and let it take the place of the old one once it lives',
    description:
      'The old root is not touched until a process hosts the new one; then what is below the old root is canceled, unless somebody else watches it, and the old root ends. If the new one does not come to life, `succession` says `failed` and nothing else has changed.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/relaunch-root',
    listeners: owner,
    gate: 'svc:act',
    params: byId,
    body: z.strictObject({ prompt }),
    response: z.object({ node, relaunches: nodeId }),
    status: 202,
    idempotency: 'key',
    errors: ['not_found', 'illegal_transition'],
  }),
] as const
