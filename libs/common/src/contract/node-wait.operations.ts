import { z } from 'zod'
import { nodeId, ordinal, pageOf, pageQuery, time } from './common.schema.js'
import { operation } from './define.js'
import { faultKinds, node, nodeStatuses } from './node.schema.js'

const byId = z.strictObject({ id: nodeId })
const owner = ['owner'] as const

/** A longer wait is a schedule. */
const longestWait = 30 * 24 * 3600

export const faultEpisode = z.object({
  kind: z.enum(faultKinds),
  message: z.string().meta({ description: 'Of the last failure' }),
  engagement: z.int(),
  turn: z.int(),
  tries: z.int().meta({ description: 'How often it failed' }),
  since: time,
  last_at: time,
  ended_at: time
    .nullable()
    .meta({ description: 'When it was answered, brought back, or failed otherwise; null: not yet' }),
})
export type FaultEpisode = z.infer<typeof faultEpisode>

export const nodeWaitOperations = [
  operation({
    name: 'nodes.wait',
    kind: 'route',
    summary: 'End the turn until something happens, or wait for a status of another node',
    description:
      "With the node's own token: it is released at the end of its turn, whatever its lifecycle, and woken by mail or when `timeout` has passed. With any other token: the answer is held, at most 60 s, until the node has one of the statuses.",
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/wait',
    listeners: owner,
    gate: 'own',
    params: byId,
    body: z.strictObject({
      timeout: z.int().min(1).max(longestWait).optional().meta({
        description: 'Seconds. Own wait: woken at the latest then; from outside at most 60, which holds unless given.',
      }),
      reason: z.string().min(1).max(500).optional().meta({ description: 'Own wait: what for, for those who look' }),
      status: z
        .array(z.enum(nodeStatuses))
        .min(1)
        .max(nodeStatuses.length)
        .optional()
        .meta({ description: 'From outside: any of these; anything but active unless given' }),
    }),
    response: z.object({
      node,
      reached: z.boolean().meta({ description: 'Whether it has one of the statuses; false for an own wait' }),
    }),
    idempotency: 'key',
    errors: ['not_found', 'illegal_transition', 'stale_generation'],
    timeout: 70_000,
  }),
  operation({
    name: 'nodes.retry',
    kind: 'untyped',
    summary: 'Try a node again now that waits out a fault or a back-off',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/retry',
    listeners: owner,
    gate: 'svc:act',
    params: byId,
    response: z.object({
      retried: z.boolean().meta({ description: 'Whether it waited; false when its process is at work already' }),
    }),
    idempotency: 'key',
    errors: ['not_found', 'illegal_transition'],
  }),
  operation({
    name: 'nodes.faults.list',
    kind: 'untyped',
    summary: 'List the faults that a node has had, newest first',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/nodes/{id}/faults',
    listeners: owner,
    gate: 'own',
    params: byId,
    query: z.strictObject(pageQuery),
    response: pageOf(faultEpisode),
    errors: ['not_found'],
  }),
  operation({
    name: 'nodes.faults.record',
    kind: 'untyped',
    summary: 'Record a fault in the middle of a turn that goes on trying',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/faults',
    listeners: owner,
    gate: 'broker',
    params: byId,
    body: z.strictObject({
      turn: ordinal,
      kind: z.enum(faultKinds),
      message: z.string().min(1).max(4000),
      retry_after_ms: z.int().min(0).max(86_400_000).optional(),
    }),
    response: z.object({ noted: z.boolean() }),
    idempotency: 'key',
    errors: ['not_found', 'stale_generation'],
  }),
] as const
