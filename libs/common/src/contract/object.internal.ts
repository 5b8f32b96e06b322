import { z } from 'zod'
import { absolutePath, actorRef, nodeId, time } from './common.schema.js'
import { operation } from './define.js'
import { bashResult } from './machine.schema.js'
import { messageTiers } from './node.schema.js'
import { registrationErrors } from './object.operations.js'
import { customObject, deliveryId, eventName, objectBody, objectId, objectRef, signingSecret } from './object.schema.js'
import { nodeEnd, nodeSuccession } from './work.internal.js'

/** A delivery to a node, as lifecycle is told of it. */
export const handedEvent = z.object({
  id: deliveryId,
  node_id: nodeId,
  tier: z.enum(messageTiers),
  source: z.object({ id: z.string(), name: z.string().nullable() }),
  event_id: z.string(),
  event: z.string(),
  payload: z.unknown(),
  published_by: actorRef,
  at: time,
  request_id: z.string().nullable(),
  traceparent: z.string().nullable(),
})
export type HandedEvent = z.infer<typeof handedEvent>

export const objectInternals = [
  operation({
    name: 'objects.object.register',
    kind: 'internal',
    summary: 'The part of a registration that is not its publish token',
    service: 'objects',
    body: objectBody.extend({ app_id: z.string().nullable() }).omit({ app: true }),
    response: customObject.extend({
      signing_secret: signingSecret,
      existed: z.boolean().meta({ description: 'Whether an object of that name was brought to the body' }),
    }),
    errors: registrationErrors,
    idempotency: 'key',
  }),
  operation({
    name: 'objects.object.unregister',
    kind: 'internal',
    summary: 'Delete an object; says which one, for a while after it is gone, too',
    service: 'objects',
    body: z.object({ ref: objectRef }),
    response: z.object({ id: objectId, deleted: z.boolean() }),
    errors: ['not_found'],
    idempotency: 'natural',
  }),
  operation({
    name: 'objects.object.rotateSecret',
    kind: 'internal',
    summary: 'A new secret for the signatures of an object’s deliveries',
    service: 'objects',
    body: z.object({ ref: objectRef, overlap: z.int().min(0) }),
    response: z.object({ signing_secret: signingSecret }),
    errors: ['not_found', 'receiver_unfit'],
    idempotency: 'key',
  }),
  operation({
    name: 'objects.publication.check',
    kind: 'internal',
    summary: 'Whether the caller could publish this now; does nothing',
    service: 'objects',
    body: z.object({ ref: objectRef, event: eventName, payload: z.unknown() }),
    response: z.object({ object_id: objectId }),
    errors: ['not_found', 'event_not_declared', 'payload_schema_mismatch'],
  }),
  operation({
    name: 'objects.status',
    kind: 'internal',
    summary: 'What of the deliveries waits, and for whom',
    service: 'objects',
    response: z.object({
      version: z.string(),
      objects: z.int(),
      paused: z.int().meta({ description: 'Receivers that the daemon paused by itself' }),
      dead: z.int().meta({ description: 'Deliveries that were given up' }),
      full: z.array(z.string()).meta({ description: 'Names of receivers that take no more, some of them' }),
      limits: z.record(z.string(), z.int()),
    }),
  }),
  operation({
    name: 'objects.node.ended',
    kind: 'internal',
    summary: 'A node has ended or is gone: its watches go with it, and those of others on it when it is gone for good',
    service: 'objects',
    body: nodeEnd,
    response: z.object({ removed: z.int() }),
    idempotency: 'natural',
  }),
  operation({
    name: 'objects.node.succeeded',
    kind: 'internal',
    summary: 'A root has given its place to another, which goes on watching and being watched in its place',
    service: 'objects',
    body: nodeSuccession,
    response: z.object({ moved: z.int() }),
    idempotency: 'natural',
  }),
  operation({
    name: 'lifecycle.events.hand',
    kind: 'internal',
    summary: 'Events of what nodes watch, as mail: each once for its delivery',
    service: 'lifecycle',
    body: z.object({ deliveries: z.array(handedEvent).min(1).max(200) }),
    response: z.object({
      outcomes: z.array(
        z.object({
          id: deliveryId,
          outcome: z.enum(['accepted', 'gone', 'full']).meta({
            description: '`gone`: the node has ended, and takes nothing more. `full`: its box is; later again.',
          }),
        }),
      ),
    }),
    idempotency: 'natural',
  }),
  operation({
    name: 'host.argv.run',
    kind: 'internal',
    summary: 'Run a program of the owner’s, once for its key, and wait for its end; then all that it started is ended',
    service: 'host',
    body: z.object({
      // whose: of one lane a program is not begun while another runs (idempotency_in_progress)
      lane: z.string().optional(),
      argv: z.array(z.string()).min(1),
      cwd: absolutePath.nullable(),
      env: z.record(z.string(), z.string()),
      stdin: z.string(),
      timeout: z.int().min(1),
    }),
    response: bashResult,
    idempotency: 'key',
    timeout: 60_000,
    errors: ['not_found', 'not_a_directory', 'file_access_denied', 'quota_exceeded', 'outcome_unknown'],
  }),
] as const
