import { z } from 'zod'
import { appId } from './app.schema.js'
import { actorRef, idOf, moment, nodeId, queryInt, time } from './common.schema.js'
import { bashCommand } from './machine.schema.js'
import { messageBody, nodeCreate } from './node.schema.js'
import { eventName, objectRef } from './object.schema.js'

export const cronId = idOf('cron')

export const cronStatuses = ['active', 'paused', 'completed', 'failed'] as const
export type CronStatus = (typeof cronStatuses)[number]

export const cronLimits = {
  nameLength: 128,
  /** Crons that are active or paused, of one node and of one application; and as many that are over are kept of each. */
  perNode: 100,
  perApp: 1000,
  /** Seconds between two slots at least. */
  cadence: 60,
  /** Slots that are made up for at most, where all are wanted. */
  caughtUp: 100,
  /** Firings of one cron that wait for the one before at most. */
  queued: 100,
  catchupWindow: 7 * 86_400,
  jitter: 86_400,
  maxFailures: 100,
  /** Bytes of an action as JSON. */
  actionBytes: 512 * 1024,
  /** Characters of the end of a command's output that its firing keeps. */
  outputLength: 4000,
} as const

const zone = z
  .string()
  .min(1)
  .max(64)
  .meta({ description: 'IANA time zone', examples: ['Europe/Berlin'] })

export const cronSchedule = z
  .union([
    z.strictObject({
      cron: z
        .string()
        .min(1)
        .max(200)
        .meta({
          description:
            'Five fields (minute, hour, day of month, month, day of week), or one of @yearly @annually @monthly @weekly @daily @midnight @hourly',
          examples: ['0 9 * * MON-FRI'],
        }),
      tz: zone.default('UTC'),
    }),
    z.strictObject({
      every: z
        .int()
        .min(1)
        .max(366 * 86_400)
        .meta({ description: 'Seconds from one slot to the next, at least 60' }),
    }),
    z.strictObject({ at: moment.meta({ description: 'The one moment' }) }),
  ])
  .meta({ id: 'CronSchedule', description: 'When it fires: by a calendar and its clock, at a fixed distance, or once' })
export type CronSchedule = z.infer<typeof cronSchedule>

const { attachments: _ofMessage, ...messageFields } = messageBody.shape
const { attachments: _ofNode, ...nodeFields } = nodeCreate.shape

export const cronAction = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('message'), node_id: nodeId, ...messageFields }),
    z.strictObject({ type: z.literal('create_node'), ...nodeFields }),
    z.strictObject({ type: z.literal('bash'), ...bashCommand.shape }),
    z.looseObject({ type: z.literal('start_run') }),
    z.strictObject({ type: z.literal('publish'), ref: objectRef, event: eventName, payload: z.unknown() }),
  ])
  .meta({ id: 'CronAction', description: 'What each firing does, with the authority of who made the schedule' })
export type CronAction = z.infer<typeof cronAction>
/** An action that this daemon can carry out. */
export type PossibleAction = Extract<CronAction, { type: 'message' | 'create_node' | 'bash' | 'publish' }>

export const missedPolicies = ['skip', 'once', 'all'] as const
export const overlapPolicies = ['allow', 'skip', 'queue'] as const

export const cronCreate = z.strictObject({
  name: z.string().min(1).max(cronLimits.nameLength).optional(),
  schedule: cronSchedule,
  action: cronAction,
  owner_node_id: nodeId
    .optional()
    .meta({ description: "The node that it belongs to and acts as; a node's own token makes its own" }),
  missed: z.enum(missedPolicies).default('once').meta({
    description:
      'What becomes of slots that nobody was there to fire: none is made up for, one for all of them, or each (the newest 100)',
  }),
  catchup_window_s: z
    .int()
    .min(0)
    .max(cronLimits.catchupWindow)
    .default(3600)
    .meta({ description: 'Slots that are older than this are not made up for' }),
  overlap: z.enum(overlapPolicies).default('skip').meta({
    description: 'At a slot while the work of the one before still goes on: start another, leave it out, or wait',
  }),
  jitter_s: z
    .int()
    .min(0)
    .max(cronLimits.jitter)
    .default(0)
    .meta({ description: 'Each slot is fired up to so many seconds later, always the same for the same slot' }),
  start_at: moment.optional().meta({ description: 'No slot before it' }),
  end_at: moment.optional().meta({ description: 'No slot after it' }),
  max_failures: z
    .int()
    .min(1)
    .max(cronLimits.maxFailures)
    .default(3)
    .meta({ description: 'Failures in a row that pause it' }),
  delete_after_run: z.boolean().default(false).meta({ description: 'Goes after its first success' }),
})
export type CronCreate = z.infer<typeof cronCreate>

export const cronQuery = z.strictObject({
  node_id: nodeId.optional().meta({ description: 'Only if it belongs to this node' }),
  app_id: appId.optional().meta({ description: 'Only if it belongs to this application' }),
})
export const cronChangeQuery = cronQuery.extend({
  if_match: queryInt(1, 2 ** 31 - 1)
    .optional()
    .meta({ description: 'Only when it is at this version' }),
})

/**
 * Of one slot, from the moment that it was due.
 *
 * Not begun: `queued` behind the work of the one before; `starting`: decided, and on its way. Under way: `running`. Ended:
 * `succeeded`, `failed`, `canceled`, and `unknown` where its work was cut off unseen. Never begun: `skipped` (by a policy or
 * a pause), `missed` (too old when somebody was there again), `coalesced` (a later one stands for it).
 */
export const fireStatuses = [
  'queued',
  'starting',
  'running',
  'succeeded',
  'failed',
  'canceled',
  'unknown',
  'skipped',
  'missed',
  'coalesced',
] as const
export type FireStatus = (typeof fireStatuses)[number]

/** Why a slot did not go as planned. */
export const fireCauses = [
  'late',
  'overlap',
  'queue_full',
  'paused',
  'policy',
  'window',
  'cap',
  'coalesced',
  'refused',
  'work_failed',
  'work_canceled',
  'outcome_unknown',
  'cron_ended',
] as const
export type FireCause = (typeof fireCauses)[number]

export const fireError = z.object({
  code: z.string().meta({ description: "A code of the errors page, or the kind of the node's fault" }),
  message: z.string(),
})

export const cronFire = z
  .object({
    cron_id: cronId,
    slot: time.meta({ description: 'The moment that the schedule names; of one by hand: when it was asked for' }),
    trigger: z.enum(['schedule', 'manual']),
    status: z.enum(fireStatuses),
    cause: z.enum(fireCauses).nullable(),
    slots: z.int().min(1).meta({ description: 'How many slots in a row this line stands for' }),
    last_slot: time.meta({ description: 'The last of them' }),
    due_at: time.meta({ description: 'The slot and its jitter' }),
    fired_at: time.nullable().meta({ description: 'When it was fired; null when it never was' }),
    lateness_ms: z.int().nullable().meta({ description: 'From `due_at` to `fired_at`' }),
    ended_at: time.nullable(),
    node_id: nodeId.nullable().meta({ description: 'The node whose work it is' }),
    message_id: z.string().nullable(),
    run_id: z.string().nullable(),
    error: fireError.nullable(),
    exit_code: z.int().nullable().meta({ description: 'Of a command' }),
    output: z.string().nullable().meta({ description: 'The end of what a command wrote' }),
  })
  .meta({ id: 'CronFire' })
export type CronFire = z.infer<typeof cronFire>

export const pauseReasons = ['asked', 'failures'] as const

export const cron = z
  .object({
    id: cronId,
    name: z.string(),
    owner_node_id: nodeId.nullable(),
    app_id: z.string().nullable(),
    created_by: actorRef,
    schedule: cronSchedule,
    action: cronAction,
    missed: z.enum(missedPolicies),
    catchup_window_s: z.int(),
    overlap: z.enum(overlapPolicies),
    jitter_s: z.int(),
    start_at: time.nullable(),
    end_at: time.nullable(),
    max_failures: z.int(),
    delete_after_run: z.boolean(),
    status: z.enum(cronStatuses),
    pause_reason: z.enum(pauseReasons).nullable(),
    consecutive_failures: z.int().min(0),
    next_fire_at: time.nullable().meta({ description: 'Slot and jitter of the next one; null unless it is active' }),
    last_fire: cronFire.nullable().meta({
      description: 'The newest slot that was fired, with the status of the work that it started',
    }),
    version: z.int().min(1),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Cron' })
export type Cron = z.infer<typeof cron>

export const cronTime = z.object({
  slot: time,
  local: z.string().meta({ description: "The same moment in the schedule's zone, with its offset" }),
  due_at: time.meta({ description: 'The slot and its jitter' }),
})
