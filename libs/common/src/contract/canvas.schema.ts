import { z } from 'zod'
import { nodeId, time } from './common.schema.js'
import { cronId } from './cron.schema.js'
import { humanRequestId } from './human.schema.js'
import { faultKinds, nodeIntents, nodeStatuses } from './node.schema.js'
import { objectId } from './object.schema.js'

export const canvasLimits = {
  /** Entries of a page of the snapshot; all of them together stay below what one message carries. */
  snapshotNodes: 1000,
  /** Ids that `attentionCounts` takes at once. */
  countedIds: 500,
  /** Characters of a search, and of a pattern. */
  queryLength: 1000,
  patternLength: 500,
} as const

/** One line a node, for a screen. */
export const rosterEntry = z
  .object({
    id: nodeId,
    name: z.string(),
    kind: z.string(),
    mode: z.enum(['base', 'orchestrator']),
    lifecycle: z.enum(['terminal', 'resident']),
    status: z.enum(nodeStatuses),
    intent: z.enum(nodeIntents).nullable(),
    parent_id: nodeId.nullable(),
    root_id: nodeId,
    depth: z.int().meta({ description: 'How many nodes stand behind its making' }),
    children: z.int().meta({ description: 'Nodes whose parent it is' }),
    engine: z.string(),
    model: z.string().nullable().meta({ description: 'The model that was named, else the strength; null without one' }),
    streaming: z.boolean(),
    fault: z.enum(faultKinds).nullable(),
    attention: z.int().meta({ description: 'Entries of `canvas.attention` that it has' }),
    context_tokens: z.int(),
    cost_usd: z.number(),
    age_ms: z.int(),
    created_at: time,
    last_activity_at: time.meta({ description: 'When it last changed or its engine last recorded anything' }),
  })
  .meta({ id: 'RosterEntry' })
export type RosterEntry = z.infer<typeof rosterEntry>

export const canvasEdge = z
  .object({
    type: z.enum(['spine', 'subscription']),
    from: z.string().meta({ description: 'The parent, or who subscribes' }),
    to: z.string().meta({ description: 'The child, or who is watched' }),
    mode: z.enum(['active', 'passive']).nullable().meta({ description: 'Of a subscription' }),
  })
  .meta({ id: 'CanvasEdge' })
export type CanvasEdge = z.infer<typeof canvasEdge>

export const canvasObject = z
  .object({ ref: z.string(), name: z.string() })
  .meta({ id: 'CanvasObject', description: 'Something outside that emits events or wants them' })

export const snapshot = z
  .object({
    generated_at: time,
    nodes: z.array(rosterEntry),
    objects: z.array(canvasObject),
    edges: z.array(canvasEdge).meta({ description: 'Those that lead to a node of this page' }),
    truncated: z.boolean().meta({ description: 'Whether there are more nodes than these: go on with `next_cursor`' }),
    next_cursor: z.string().nullable(),
    totals: z
      .object({ nodes: z.int(), by_status: z.record(z.string(), z.int()) })
      .meta({ description: 'Of all that the caller may see here, whatever the page' }),
  })
  .meta({ id: 'CanvasSnapshot' })
export type CanvasSnapshot = z.infer<typeof snapshot>

export const attentionTypes = ['fault', 'hanging', 'ticket', 'schedule', 'object'] as const
export const attentionItem = z
  .object({
    type: z.enum(attentionTypes),
    node_id: nodeId.nullable().meta({ description: 'The node that it is about; null where no node asked or armed it' }),
    request_id: humanRequestId.nullable().meta({ description: 'Of a ticket: the request that is open' }),
    cron_id: cronId.nullable().meta({ description: 'Of a schedule that was paused since its work fails' }),
    object_id: objectId.nullable().meta({ description: 'Of a custom object whose receiver was paused since it fails' }),
    node_name: z.string().nullable(),
    node_kind: z.string().nullable(),
    status: z.enum(nodeStatuses).nullable(),
    since: time,
    message: z.string(),
    fault: z.enum(faultKinds).nullable(),
    retry_at: time.nullable().meta({ description: 'When it is tried again by itself' }),
    remedy: z.string().meta({ description: 'What a person can do about it' }),
  })
  .meta({ id: 'AttentionItem' })
export type AttentionItem = z.infer<typeof attentionItem>

export const attention = z
  .object({
    items: z.array(attentionItem),
    next_cursor: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'Attention' })

export const attentionCountsBody = z.strictObject({ ids: z.array(nodeId).max(canvasLimits.countedIds) })
export const attentionCounts = z.object({
  counts: z
    .record(z.string(), z.int())
    .meta({ description: 'For every id that was asked; 0 also for one that is not there, or not yours' }),
})

const seconds = z
  .int()
  .min(0)
  .max(100 * 365 * 86_400)
/** ISO 8601 without months and years, whose length differs. */
const isoDuration = z
  .string()
  .max(64)
  .regex(
    /^P(?=.)(\d{1,5}W|(\d{1,6}D)?(T(?=\d)(\d{1,7}H)?(\d{1,9}M)?(\d{1,10}S)?)?)$/,
    'must be seconds, or a duration like P14D',
  )

export const prunableStatuses = ['done', 'dead', 'canceled'] as const
export const pruneBody = z.strictObject({
  older_than: z
    .union([seconds, isoDuration])
    .default('P14D')
    .meta({ description: 'How long ago it must have ended: seconds, or an ISO 8601 duration of weeks, days, hours …' }),
  dry_run: z.boolean().default(true).meta({ description: 'Only say what would go' }),
  statuses: z
    .array(z.enum(prunableStatuses))
    .min(1)
    .default([...prunableStatuses]),
})
export const pruneAnswer = z
  .object({
    dry_run: z.boolean(),
    ended_before: time,
    nodes: z.int().meta({ description: 'Nodes that were deleted, or would be' }),
    by_status: z.record(z.string(), z.int()),
    events: z.int(),
    turns: z.int(),
    bytes: z.int().meta({ description: 'About what they take on the disk' }),
    sample: z
      .array(z.object({ id: nodeId, name: z.string(), status: z.enum(nodeStatuses), ended_at: time }))
      .meta({ description: 'The first hundred of them' }),
    complete: z.boolean().meta({ description: 'False when the time was up before all were gone: ask again' }),
  })
  .meta({ id: 'PruneAnswer' })
export type PruneAnswer = z.infer<typeof pruneAnswer>
