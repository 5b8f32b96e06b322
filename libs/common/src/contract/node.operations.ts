import { z } from 'zod'
import { nodeId, pageOf, pageQuery, queryFlag, queryInt } from './common.schema.js'
import { operation } from './define.js'
import {
  cancelResult, messageBody, messageReceipt, node, nodeCreate, nodeEvent, nodeStatuses, outcome, report, reportBody, streamItem,
} from './node.schema.js'

const byId = z.strictObject({ id: nodeId })
const owner = ['owner'] as const

const waitSeconds = queryInt(0, 60).optional().meta({
  description: 'Hold the answer for up to this many seconds, until the outcome is settled; `Prefer: wait=n` says the same',
})

const eventsQuery = z.strictObject({
  ...pageQuery,
  after: z.string().max(512).optional().meta({ description: 'Go on after this event id; `Last-Event-ID` says the same' }),
})

export const nodeOperations = [
  operation({
    name: 'nodes.create', kind: 'route', summary: 'Create a node and hand it work',
    service: 'lifecycle', method: 'POST', path: '/v1/nodes', listeners: owner, gate: 'svc:act',
    body: nodeCreate, response: node, status: 201, idempotency: 'key',
    errors: ['scope_exceeds_ceiling', 'not_found', 'quota_exceeded', 'model_not_configured', 'illegal_transition'],
  }),
  operation({
    name: 'nodes.retrieve', kind: 'route', summary: 'Read one node',
    service: 'lifecycle', method: 'GET', path: '/v1/nodes/{id}', listeners: owner, gate: 'own',
    params: byId, response: node, errors: ['not_found'],
  }),
  operation({
    name: 'nodes.list', kind: 'route', summary: 'List nodes, newest first',
    service: 'lifecycle', method: 'GET', path: '/v1/nodes', listeners: owner, gate: 'own',
    query: z.strictObject({
      ...pageQuery,
      status: z.enum(nodeStatuses).optional(),
      kind: z.string().optional(),
      mode: z.enum(['base', 'orchestrator']).optional(),
      lifecycle: z.enum(['terminal', 'resident']).optional(),
      cwd: z.string().optional(),
      under: nodeId.optional().meta({ description: 'Only nodes at or below this one' }),
      text: z.string().max(200).optional().meta({ description: 'Part of the name or description' }),
    }),
    response: pageOf(node), errors: ['malformed_request'],
  }),
  operation({
    name: 'nodes.message', kind: 'route', summary: 'Send a node a message; a dormant or ended one is resumed',
    service: 'lifecycle', method: 'POST', path: '/v1/nodes/{id}/message', listeners: owner, gate: 'svc:act',
    params: byId, body: messageBody, response: messageReceipt, idempotency: 'key',
    errors: ['not_found', 'illegal_transition', 'quota_exceeded'],
  }),
  operation({
    name: 'nodes.interrupt', kind: 'route', summary: 'Abort the running turn; the node stays alive',
    service: 'lifecycle', method: 'POST', path: '/v1/nodes/{id}/interrupt', listeners: owner, gate: 'svc:act',
    params: byId, response: z.object({ interrupted: z.boolean().meta({ description: 'Whether a turn was running' }) }),
    idempotency: 'key', errors: ['not_found', 'illegal_transition'],
  }),
  operation({
    name: 'nodes.cancel', kind: 'route', summary: 'Cancel a node for good',
    service: 'lifecycle', method: 'POST', path: '/v1/nodes/{id}/cancel', listeners: owner, gate: 'svc:act',
    params: byId, response: cancelResult, idempotency: 'key', errors: ['not_found', 'illegal_transition'],
  }),
  operation({
    name: 'nodes.outcome', kind: 'route', summary: 'Read how the present piece of work ended, or wait for it',
    service: 'lifecycle', method: 'GET', path: '/v1/nodes/{id}/outcome', listeners: owner, gate: 'own',
    params: byId, query: z.strictObject({ wait: waitSeconds }), response: outcome, errors: ['not_found'], timeout: 70_000,
  }),
  operation({
    name: 'nodes.waitForOutcome', kind: 'composed', summary: 'Wait until the outcome is settled, however long it takes',
    service: 'lifecycle', composedOf: ['nodes.outcome'], params: byId, response: outcome,
  }),
  operation({
    name: 'nodes.createAndWait', kind: 'composed', summary: 'Create a node and wait for its outcome',
    service: 'lifecycle', composedOf: ['nodes.create', 'nodes.outcome'], body: nodeCreate, response: outcome,
  }),
  operation({
    name: 'nodes.parse', kind: 'composed', summary: 'Create a node with a result schema, wait, and return the typed result',
    service: 'lifecycle', composedOf: ['nodes.create', 'nodes.outcome'], body: nodeCreate,
  }),
  operation({
    name: 'nodes.result.submit', kind: 'route', summary: 'Submit the typed result, exactly once',
    service: 'lifecycle', method: 'POST', path: '/v1/nodes/{id}/result', listeners: owner, gate: ['self', 'svc:act'],
    params: byId, body: z.strictObject({ value: z.unknown() }), response: outcome, idempotency: 'key',
    errors: ['not_found', 'result_already_submitted', 'result_schema_mismatch', 'illegal_transition'],
  }),
  operation({
    name: 'nodes.reports.list', kind: 'route', summary: 'List the reports of a node, oldest first',
    service: 'lifecycle', method: 'GET', path: '/v1/nodes/{id}/reports', listeners: owner, gate: 'own',
    params: byId, query: z.strictObject(pageQuery), response: pageOf(report), errors: ['not_found', 'malformed_request'],
  }),
  operation({
    name: 'nodes.reports.push', kind: 'untyped', summary: "Publish a report of the node's own (`svc push`)",
    description: 'A `final` report ends the present piece of work: report, fan-out to subscribers and the end are one transaction.',
    service: 'lifecycle', method: 'POST', path: '/v1/nodes/{id}/reports', listeners: owner, gate: 'self',
    params: byId, body: reportBody, response: report, status: 201, idempotency: 'key',
    errors: ['not_found', 'already_finalized', 'illegal_transition'],
  }),
  operation({
    name: 'nodes.events', kind: 'route', summary: 'Read the durable events of a node: live as a stream, or by pages',
    service: 'lifecycle', method: 'GET', path: '/v1/nodes/{id}/events', listeners: owner, gate: 'own', answer: 'negotiated',
    params: byId, query: eventsQuery, response: pageOf(nodeEvent), item: nodeEvent, errors: ['not_found', 'cursor_expired', 'malformed_request'],
  }),
  operation({
    name: 'nodes.stream', kind: 'route', summary: 'Watch a node: a snapshot, then events and live deltas',
    service: 'lifecycle', method: 'GET', path: '/v1/nodes/{id}/stream', listeners: owner, gate: 'own', answer: 'stream',
    params: byId,
    query: z.strictObject({ after: z.string().max(512).optional(), tree: queryFlag.optional().meta({ description: 'Also those of the nodes below' }) }),
    item: streamItem, errors: ['not_found', 'cursor_expired', 'malformed_request'],
  }),
] as const
