import { z } from 'zod'
import { nodeId, time } from './common.schema.js'
import { operation } from './define.js'
import { messageBody } from './node.schema.js'

const owner = ['owner'] as const
const byId = z.strictObject({ id: nodeId })

/** What a viewer and a broker speak over its socket: one JSON object a line, both ways. */
export const viewerProtocol = 'svc-viewer/1'

export const viewerOperations = [
  operation({
    name: 'nodes.attach',
    kind: 'untyped',
    summary: "Where a viewer on the node's own machine reaches the process that hosts it",
    description:
      'A unix socket of that machine (newline-delimited JSON: a `welcome`, then entries and deltas as they come), useless anywhere else: `nodes.stream` is the way to watch from afar. `ticket` lets a viewer take control over that socket, in the name of the owner, for as long as this process hosts the node.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/attach',
    listeners: owner,
    gate: 'owner',
    params: byId,
    response: z.object({
      path: z.string(),
      host_id: z.string(),
      generation: z.int(),
      protocol: z.string(),
      version: z.string(),
      ticket: z.string(),
      expires_at: time.meta({ description: 'Until when the ticket is good' }),
    }),
    idempotency: 'natural',
    repeats: 'Each ticket opens the viewer of the same process and expires by itself.',
    errors: ['not_found', 'no_live_broker', 'service_unavailable'],
  }),
  operation({
    name: 'nodes.broker.viewer',
    kind: 'untyped',
    summary: 'What the viewer that controls the node asks for',
    description:
      "The broker hands on what a person at its socket says. It is done in the owner's name for the ticket that the owner was given by `attach`: a broker alone has none.",
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/broker/viewer',
    listeners: owner,
    gate: 'broker',
    params: byId,
    body: z.strictObject({
      ticket: z.string().max(256),
      act: z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('control') }),
        z.strictObject({ type: z.literal('interrupt') }),
        z.strictObject({ type: z.literal('message'), body: messageBody.shape.body, tier: messageBody.shape.tier }),
      ]),
    }),
    response: z.object({
      message_id: z.string().optional(),
      delivered: z.enum(['live', 'queued', 'revived']).optional(),
      interrupted: z.boolean().optional(),
    }),
    idempotency: 'key',
    errors: ['not_found', 'stale_generation', 'owner_required', 'illegal_transition', 'quota_exceeded'],
  }),
  operation({
    name: 'host.broker.attach',
    kind: 'internal',
    summary: 'Have the process of a node open its socket for viewers; a repetition answers the same',
    service: 'host',
    body: z.object({ node_id: nodeId, generation: z.int() }),
    response: z.object({ path: z.string() }),
    errors: ['no_live_broker'],
  }),
] as const
