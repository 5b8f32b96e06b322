import { z } from 'zod'
import {
  attention,
  attentionCounts,
  attentionCountsBody,
  canvasLimits,
  pruneAnswer,
  pruneBody,
  rosterEntry,
  snapshot,
} from './canvas.schema.js'
import { nodeId, pageOf, pageQuery, queryFlag, queryInt } from './common.schema.js'
import { operation } from './define.js'

const owner = ['owner'] as const
const under = nodeId.optional().meta({ description: 'Only nodes at or below this one' })

export const canvasOperations = [
  operation({
    name: 'canvas.roster',
    kind: 'route',
    summary: 'One line a node, newest first',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/canvas/roster',
    listeners: owner,
    gate: 'own',
    query: z.strictObject({ ...pageQuery, under }),
    response: pageOf(rosterEntry),
    errors: ['not_found'],
  }),
  operation({
    name: 'canvas.snapshot',
    kind: 'route',
    summary: 'The canvas as it stands: nodes, objects and the edges between them',
    description:
      'Nodes come newest first and in pages; each edge comes once, with the node that it leads to. `live` leaves out nodes that have ended.',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/canvas/snapshot',
    listeners: owner,
    gate: 'own',
    query: z.strictObject({
      limit: queryInt(1, canvasLimits.snapshotNodes).default(500),
      after: z.string().max(512).optional(),
      under,
      live: queryFlag.optional().meta({ description: 'Only nodes that are active or idle' }),
    }),
    response: snapshot,
    errors: ['not_found'],
  }),
  operation({
    name: 'canvas.attention',
    kind: 'route',
    summary: 'What needs a person: open questions, faults, nodes that hang, schedules that fail',
    description:
      'A node hangs when it is active and nothing has come of it for a quarter of an hour, or when it is idle, owes a report and waits for nothing.',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/canvas/attention',
    listeners: owner,
    gate: 'own',
    query: z.strictObject({ ...pageQuery, under }),
    response: attention,
    errors: ['not_found'],
  }),
  operation({
    name: 'canvas.attentionCounts',
    kind: 'route',
    summary: 'How many entries of the attention each of these nodes has',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/canvas/attention/counts',
    listeners: owner,
    gate: 'own',
    body: attentionCountsBody,
    response: attentionCounts,
    idempotency: 'natural',
    repeats: 'It only reads.',
  }),
  operation({
    name: 'canvas.prune',
    kind: 'route',
    summary: 'Delete nodes that ended long ago, with all that they said and did',
    description:
      'Never a node that is active or idle, one that has a node below it which stays, one that a live node subscribes to, or one with a worktree on the disk or a running job. Statistics stay. Deletes in small steps and answers after a while also when more is left (`complete`).',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/canvas/prune',
    listeners: owner,
    gate: 'owner',
    body: pruneBody,
    response: pruneAnswer,
    idempotency: 'natural',
    repeats: 'What was deleted is gone; a repetition goes on with what is left.',
    timeout: 40_000,
  }),
] as const
