import { z } from 'zod'
import { nodeId, time } from './common.schema.js'
import { cronAction, cronId, fireError } from './cron.schema.js'
import { operation } from './define.js'
import { nodePlace } from './internal.operations.js'

/**
 * On whose authority something is done later. It is bound to a principal, not to a token, and never beyond what the token
 * held that asked for it: what it may do then is the intersection of `scopes` with what the principal has at that moment.
 */
export const authority = z.object({
  kind: z.enum(['owner', 'app', 'run', 'node']),
  principal: z.string(),
  node_id: nodeId.nullable(),
  app_id: z.string().nullable(),
  profile: z.string().nullable(),
  scopes: z.array(z.string()),
})
export type Authority = z.infer<typeof authority>

/** Names one firing, which is begun once at most: `<cron id>:<slot in ms since the epoch>`. */
export const workKey = z.string().regex(/^cron_[0-9a-z]{26}:\d{1,16}$/)

export const workStates = ['running', 'succeeded', 'failed', 'canceled', 'absent'] as const

const refusals = [
  'not_found',
  'scope_missing',
  'scope_exceeds_ceiling',
  'path_outside_scope',
  'grant_revoked',
  'quota_exceeded',
  'illegal_transition',
  'model_not_configured',
  'sandbox_required',
  'worktree_refused',
  'node_token_required',
] as const

const started = z.object({ key: workKey, node_id: nodeId, message_id: z.string(), accepted_at: time })

/** A node has ended, or is gone. */
export const nodeEnd = z.object({
  source_event: z.string(),
  node_id: nodeId,
  how: z.enum(['canceled', 'finalized', 'pruned']),
  ended_at: time,
})

/** A root has given its place to another. */
export const nodeSuccession = z.object({ source_event: z.string(), from: nodeId, to: nodeId, at: time })

/** Spoken between the scheduler, which decides when, and lifecycle, which knows who may do what and starts it. */
export const workInternals = [
  operation({
    name: 'lifecycle.work.check',
    kind: 'internal',
    summary: 'Whether an action could be done now on this authority; does nothing',
    service: 'lifecycle',
    body: z.object({ by: authority, action: cronAction }),
    response: z.object({
      owner_path: z
        .array(nodeId)
        .meta({ description: 'The node of the authority and all above it, the nearest first; none without a node' }),
      app_id: z.string().nullable().meta({ description: 'The application that the work belongs to' }),
      profile: z.string().nullable(),
    }),
    errors: refusals,
  }),
  operation({
    name: 'lifecycle.work.start',
    kind: 'internal',
    summary: 'Create a node or send a message on an authority as it stands now; once for its key',
    service: 'lifecycle',
    body: z.object({ key: workKey, by: authority, action: cronAction }),
    response: started,
    errors: refusals,
    idempotency: 'natural',
  }),
  operation({
    name: 'lifecycle.work.states',
    kind: 'internal',
    summary: 'What has become of works that were started',
    service: 'lifecycle',
    body: z.object({ keys: z.array(workKey).min(1).max(500) }),
    response: z.object({
      works: z.array(
        z.object({
          key: workKey,
          state: z.enum(workStates).meta({ description: '`absent`: nothing was ever started under this key' }),
          node_id: nodeId.nullable(),
          ended_at: time.nullable(),
          error: fireError.nullable(),
        }),
      ),
    }),
  }),
  operation({
    name: 'lifecycle.work.actor',
    kind: 'internal',
    summary: 'Who does what is done on this authority now: a command on a machine, or an event that is published',
    service: 'lifecycle',
    body: z.object({ by: authority }),
    response: z.object({
      scopes: z.array(z.string()),
      place: nodePlace.nullable(),
      generation: z.int().nullable(),
      app_id: z.string().nullable(),
      profile: z.string().nullable(),
    }),
    errors: ['not_found', 'grant_revoked', 'illegal_transition', 'scope_missing'],
  }),
  operation({
    name: 'lifecycle.concern.set',
    kind: 'internal',
    summary: 'Something of another service needs a person, or does no more; an older version changes nothing',
    service: 'lifecycle',
    body: z.object({
      ref: z.string().max(128).meta({ description: 'What it is about: the id of a schedule or of a custom object' }),
      version: z.int().min(1),
      concern: z
        .object({
          node_id: nodeId.nullable().meta({ description: 'The node that it belongs to, which is told' }),
          app_id: z.string().nullable(),
          profile: z.string().nullable(),
          name: z.string(),
          since: time,
          message: z.string().max(2000),
          remedy: z.string().max(1000),
        })
        .nullable()
        .meta({ description: 'Null: nothing any more' }),
    }),
    response: z.object({ noted: z.boolean() }),
    idempotency: 'natural',
  }),
  operation({
    name: 'scheduler.node.ended',
    kind: 'internal',
    summary: 'A node has ended or is gone: its schedules go with it, as far as they do',
    description:
      '`canceled` and `pruned`: those that it armed and those aimed at it. `finalized`: its own that fire once. It may be told late: what was armed after `ended_at` by a node that was brought back stays.',
    service: 'scheduler',
    body: nodeEnd,
    response: z.object({ deleted: z.array(cronId) }),
    idempotency: 'natural',
  }),
  operation({
    name: 'scheduler.node.succeeded',
    kind: 'internal',
    summary: 'A root has given its place to another: its schedules follow',
    description:
      'Those that it armed belong to the new root and act as it, those aimed at it are aimed at the new one, and those of nodes below stand under it. It says all of that: no `finalized` comes with it. What was armed after `at` by a root that was brought back stays its own.',
    service: 'scheduler',
    body: nodeSuccession,
    response: z.object({ moved: z.array(cronId), deleted: z.array(cronId) }),
    idempotency: 'natural',
  }),
] as const
