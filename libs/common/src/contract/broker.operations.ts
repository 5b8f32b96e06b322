import { z } from 'zod'
import { assignment, brokerSignal, deltaBatch, journalEntry, journalRecord, mailEntry } from './broker.schema.js'
import { nodeId, queryInt, time } from './common.schema.js'
import { operation } from './define.js'
import { llmItem, turnCall } from './model.schema.js'

const byId = z.strictObject({ id: nodeId })
const owner = ['owner'] as const
/** Conversations and tool outputs travel whole between a broker and the daemon. */
const conversationBytes = 7 * 1024 * 1024

/** A broker's own control plane: refused to any token but the node's own of the current generation. */
export const brokerOperations = [
  operation({
    name: 'nodes.mail.claim',
    kind: 'untyped',
    summary: "Lease the next batch of the node's mail for 30 s",
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/mail/claim',
    listeners: owner,
    gate: 'broker',
    params: byId,
    body: z.strictObject({
      limit: z.int().min(1).max(500).default(100),
      steering: z
        .boolean()
        .default(false)
        .meta({ description: 'Only what steers a running turn: urgent and critical' }),
    }),
    response: z.object({ mail: z.array(mailEntry), lease_expires_at: time }),
    errors: ['not_found', 'stale_generation'],
  }),
  operation({
    name: 'nodes.mail.acknowledge',
    kind: 'untyped',
    summary: 'Acknowledge mail that the engine has accepted',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/mail/acknowledge',
    listeners: owner,
    gate: 'broker',
    params: byId,
    body: z.strictObject({ ids: z.array(z.string()).min(1).max(500) }),
    response: z.object({ acknowledged: z.int() }),
    idempotency: 'natural',
    errors: ['not_found', 'stale_generation'],
  }),
  operation({
    name: 'nodes.broker.bind',
    kind: 'untyped',
    summary: 'Confirm that this process hosts the node now, and read its assignment',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/broker/bind',
    listeners: owner,
    gate: 'broker',
    params: byId,
    body: z.strictObject({
      host_id: z.string().max(128),
      pid: z.int().min(1),
      started_at: time,
      version: z.string().max(64),
    }),
    response: assignment,
    idempotency: 'natural',
    errors: ['not_found', 'stale_generation', 'illegal_transition', 'version_mismatch'],
  }),
  operation({
    name: 'nodes.broker.journal',
    kind: 'untyped',
    summary: "Append to the node's journal",
    description:
      'Ordered append with a compare on `from`. Sending the same entries again changes nothing; other entries at a written position answer journal_conflict.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/broker/journal',
    listeners: owner,
    gate: 'broker',
    bodyLimit: conversationBytes,
    params: byId,
    body: z.strictObject({ from: z.int().min(1), entries: z.array(journalEntry).min(1).max(200) }),
    response: z.object({
      next_ord: z.int(),
      next: z
        .enum(['continue', 'stop'])
        .meta({ description: 'After a turn_ended: go on with more mail, or stop, since the node went idle or ended' }),
    }),
    idempotency: 'natural',
    errors: ['not_found', 'stale_generation', 'journal_conflict'],
  }),
  operation({
    name: 'nodes.broker.readJournal',
    kind: 'untyped',
    summary: "Read the node's journal, oldest first; a page is bounded in bytes",
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/nodes/{id}/broker/journal',
    listeners: owner,
    gate: 'broker',
    params: byId,
    query: z.strictObject({ from: queryInt(1, Number.MAX_SAFE_INTEGER).default(1) }),
    response: z.object({ journal: z.array(journalRecord), next_ord: z.int() }),
    errors: ['not_found', 'stale_generation'],
  }),
  operation({
    name: 'nodes.broker.modelCall',
    kind: 'untyped',
    summary: 'The model call of one step of a turn; bought once, read back afterwards',
    service: 'models',
    method: 'POST',
    path: '/v1/nodes/{id}/broker/model-calls',
    listeners: owner,
    gate: 'broker',
    bodyLimit: conversationBytes,
    params: byId,
    body: turnCall,
    answer: 'stream',
    item: llmItem,
    timeout: 3_600_000,
    errors: [
      'model_error',
      'model_not_found',
      'model_not_configured',
      'model_call_unknown',
      'budget_exhausted',
      'stale_generation',
    ],
  }),
  operation({
    name: 'nodes.broker.modelCallCancel',
    kind: 'untyped',
    summary: 'End the model call of a step at the provider, as an interrupt does',
    description:
      'A broker that only disconnects leaves its call running, so that its successor can read the answer back.',
    service: 'models',
    method: 'POST',
    path: '/v1/nodes/{id}/broker/model-calls/cancel',
    listeners: owner,
    gate: 'broker',
    params: byId,
    body: z.strictObject({ turn: z.int().min(1), step: z.int().min(1) }),
    response: z.object({
      canceled: z
        .boolean()
        .meta({ description: 'Whether the call was running; false when it had ended or never begun' }),
    }),
    idempotency: 'natural',
    errors: ['stale_generation'],
  }),
  operation({
    name: 'nodes.broker.deltas',
    kind: 'untyped',
    summary: 'Publish live deltas to those who watch',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/broker/deltas',
    listeners: owner,
    gate: 'broker',
    params: byId,
    body: deltaBatch,
    response: z.object({
      resync: z.boolean().meta({ description: 'Send the text of the message in progress from offset 0' }),
    }),
    idempotency: 'natural',
    errors: ['not_found', 'stale_generation'],
  }),
  operation({
    name: 'nodes.broker.signals',
    kind: 'untyped',
    summary: 'What the daemon wants of the broker: mail waiting, interrupt, stop',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/nodes/{id}/broker/signals',
    listeners: owner,
    gate: 'broker',
    params: byId,
    answer: 'stream',
    item: brokerSignal,
    timeout: 3_600_000,
    errors: ['not_found', 'stale_generation'],
  }),
] as const
