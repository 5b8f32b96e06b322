import { z } from 'zod'
import { idOf, moment, nodeId, pageOf, pageQuery, time } from './common.schema.js'
import { cronId } from './cron.schema.js'
import { operation } from './define.js'

export const ledgerKinds = ['slot', 'launch', 'resume', 'answer', 'delivery'] as const
export type LedgerKind = (typeof ledgerKinds)[number]

/**
 * - `waiting`: it has not happened yet, though it should have.
 * - `late`: it happened, later than planned.
 * - `failed`: it was tried, and what it was for did not come about.
 * - `unknown`: it was tried, and how it ended was not seen.
 * - `omitted`: it was left out, and will not happen by itself.
 */
export const ledgerStates = ['waiting', 'late', 'failed', 'unknown', 'omitted'] as const
export type LedgerState = (typeof ledgerStates)[number]

export const ledgerAction = z
  .object({
    method: z.string(),
    path: z.string(),
    command: z.string().meta({ description: 'The same as a command line' }),
  })
  .meta({ description: 'The call that does it now' })

export const ledgerEntry = z
  .object({
    id: z.string().meta({ description: 'Of the thing that it is about; the same while that is the same' }),
    kind: z.enum(ledgerKinds),
    state: z.enum(ledgerStates),
    cause: z.string().meta({ description: 'Why, as one word: of a slot one of the causes of a firing' }),
    message: z.string().meta({ description: 'Why, for a person' }),
    at: time.meta({ description: 'When it was known' }),
    planned_at: time.meta({ description: 'When it should have happened' }),
    happened_at: time.nullable(),
    lateness_ms: z.int().nullable().meta({ description: 'Null for what never happened' }),
    count: z.int().min(1).meta({ description: 'How many of them in a row this entry stands for' }),
    cron_id: cronId.nullable(),
    node_id: nodeId.nullable(),
    request_id: idOf('req').nullable(),
    object_id: idOf('obj').nullable().meta({ description: 'The object whose receiver, or whose event, it is about' }),
    name: z.string().nullable().meta({ description: 'Name of the schedule, the node or the object' }),
    app_id: z.string().nullable(),
    action: ledgerAction.nullable().meta({ description: 'Null where nothing is left to do, or no call would help' }),
  })
  .meta({ id: 'LedgerEntry' })
export type LedgerEntry = z.infer<typeof ledgerEntry>

const filters = {
  kind: z.enum(ledgerKinds).optional(),
  state: z.enum(ledgerStates).optional(),
  node_id: nodeId.optional().meta({ description: 'Only what is about this node' }),
  cron_id: cronId.optional().meta({ description: 'Only what is about this schedule' }),
  object_id: idOf('obj').optional().meta({ description: 'Only what is about this object' }),
  app_id: z.string().max(128).optional().meta({ description: 'Only what is about this application' }),
  since: moment.optional().meta({ description: 'Only what became known at this moment or later' }),
}

/** A part of the ledger, newest first: entries before a position in the order of (at, id). */
const part = {
  kind: 'internal' as const,
  body: z.object({
    ...filters,
    before: z.object({ at: time, id: z.string() }).nullable().default(null),
    limit: z.int().min(1).max(201),
  }),
  response: z.object({ entries: z.array(ledgerEntry) }),
}

export const ledgerOperations = [
  operation({
    name: 'ledger.list',
    kind: 'untyped',
    summary:
      'What did not happen as planned, newest first: with its cause, how late it was, and the call that does it now',
    service: 'gateway',
    method: 'GET',
    path: '/v1/ledger',
    listeners: ['owner'],
    gate: 'own',
    query: z.strictObject({ ...pageQuery, ...filters }),
    response: pageOf(ledgerEntry).extend({
      absent: z.array(z.string()).meta({ description: 'Services that did not answer, whose entries are missing here' }),
    }),
  }),
  operation({
    name: 'scheduler.ledger.read',
    summary: 'Slots that did not go as planned, of those that the caller may see',
    service: 'scheduler',
    ...part,
  }),
  operation({
    name: 'objects.ledger.read',
    summary: 'Deliveries and publications that did not happen as planned, of those that the caller may see',
    service: 'objects',
    ...part,
  }),
  operation({
    name: 'lifecycle.ledger.read',
    summary: 'Launches, resumes and answers that did not happen as planned, of those that the caller may see',
    service: 'lifecycle',
    ...part,
  }),
] as const
