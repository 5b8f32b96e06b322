import { z } from 'zod'
import { nodeId, time } from './common.schema.js'
import { operation } from './define.js'

const owner = ['owner'] as const

/** Panes that are kept at once, and for how long (s) one stays that is not set again. */
export const focusLimits = { panes: 500, usual: 86_400, longest: 7 * 86_400 } as const

export const paneName = z
  .string()
  .regex(/^[A-Za-z0-9%@$][A-Za-z0-9%@$:._-]{0,127}$/, 'must be a name of letters, digits and % @ $ : . _ -')
  .meta({ description: 'The pane of a terminal multiplexer as that names it; url-encoded where it has a `%`' })

export const focus = z
  .object({
    pane: z.string(),
    node_id: nodeId,
    viewer: z.string().nullable().meta({ description: 'What shows it there, as that calls itself' }),
    created_at: time,
    updated_at: time,
    expires_at: time,
  })
  .meta({ id: 'Focus' })
export type Focus = z.infer<typeof focus>

export const focusOperations = [
  operation({
    name: 'focuses.list',
    kind: 'untyped',
    summary: 'Which node is looked at in which pane, the newest first',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/focuses',
    listeners: owner,
    gate: 'owner',
    query: z.strictObject({ node_id: nodeId.optional().meta({ description: 'Only those on this node' }) }),
    response: z.object({ data: z.array(focus) }),
  }),
  operation({
    name: 'focuses.set',
    kind: 'untyped',
    summary: 'Note that a pane shows a node',
    description: 'It is forgotten when it is not set again within its time, and with its node.',
    service: 'lifecycle',
    method: 'PUT',
    path: '/v1/focuses/{pane}',
    listeners: owner,
    gate: 'owner',
    params: z.strictObject({ pane: paneName }),
    body: z.strictObject({
      node_id: nodeId,
      viewer: z.string().min(1).max(128).optional(),
      ttl: z
        .int()
        .min(1)
        .max(focusLimits.longest)
        .default(focusLimits.usual)
        .meta({ description: 'Seconds until it is forgotten' }),
    }),
    response: focus,
    idempotency: 'natural',
    errors: ['not_found', 'quota_exceeded'],
  }),
  operation({
    name: 'focuses.delete',
    kind: 'untyped',
    summary: 'Forget what a pane shows',
    service: 'lifecycle',
    method: 'DELETE',
    path: '/v1/focuses/{pane}',
    listeners: owner,
    gate: 'owner',
    params: z.strictObject({ pane: paneName }),
    status: 204,
    idempotency: 'natural',
  }),
] as const
