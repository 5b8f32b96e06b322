import { z } from 'zod'
import { nodeId, time } from './common.schema.js'
import { faultKinds, modelChoice, nodeLimits, nodeStatuses, strength } from './node.schema.js'

export const careLimits = {
  roadmapBytes: 512 * 1024,
  /** Revisions of a roadmap that are kept. */
  roadmapRevisions: 100,
  /** Nodes that watch one node: each of its reports is told to all of them at once. */
  watchers: 256,
} as const

const bytesAtMost = (limit: number) => (text: string) =>
  text.length * 3 <= limit || new TextEncoder().encode(text).length <= limit

export const roadmapText = z
  .string()
  .min(1)
  .refine(bytesAtMost(careLimits.roadmapBytes), `must be at most ${careLimits.roadmapBytes} bytes`)

const ifMatch = z.int().optional().meta({ description: 'The version that this was decided on; another one is refused' })

export const nodeUpdate = z
  .strictObject({
    name: z.string().min(1).max(nodeLimits.nameLength).optional(),
    description: z.string().min(1).max(nodeLimits.descriptionLength).nullable().optional(),
    model: modelChoice.optional(),
    lifecycle: z.enum(['terminal', 'resident']).optional(),
    if_match: ifMatch,
  })
  .refine(
    ({ if_match: _, ...changes }) => Object.values(changes).some((value) => value !== undefined),
    'must name something to change: name, description, model or lifecycle',
  )
export type NodeUpdate = z.infer<typeof nodeUpdate>

export const promotion = z.strictObject({
  kind: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)
    .optional()
    .meta({ description: 'Its role from now on; the present one unless given' }),
  strength: strength.optional().meta({ description: 'Takes the place of the model that it had' }),
  resident: z.boolean().optional().meta({ description: 'Whether it stays between messages; as it is unless given' }),
  roadmap: roadmapText.optional().meta({ description: 'Its roadmap; one with its goal is written unless given' }),
})

export const roadmap = z
  .object({
    node_id: nodeId,
    text: z.string(),
    version: z.int(),
    updated_at: time,
    updated_by: z.string().meta({ description: 'Principal of who wrote it' }),
  })
  .meta({ id: 'Roadmap' })
export type Roadmap = z.infer<typeof roadmap>

export const roadmapBody = z.strictObject({ text: roadmapText, if_match: ifMatch })

export const watchModes = ['active', 'passive'] as const
export type WatchMode = (typeof watchModes)[number]

export const subscription = z
  .object({
    subscriber: nodeId,
    publisher: nodeId,
    mode: z
      .enum(watchModes)
      .meta({ description: '`active` ones are woken; `passive` ones find it ahead of their next message' }),
    created_at: time,
  })
  .meta({ id: 'Subscription' })
export type Subscription = z.infer<typeof subscription>

export const subscriptionBody = z.strictObject({
  subscriber: nodeId,
  publisher: nodeId,
  mode: z.enum(watchModes).default('active'),
})

export const reviveAllBody = z.strictObject({
  confirm: z.boolean().default(false).meta({ description: 'Revive them; without it they are only listed' }),
  under: nodeId.optional().meta({ description: 'Only nodes at or below this one' }),
  limit: z.int().min(1).max(200).default(50),
})

export const reviveAllAnswer = z
  .object({
    nodes: z.array(
      z.object({
        id: nodeId,
        name: z.string(),
        status: z.enum(nodeStatuses),
        reason: z.string().meta({ description: 'What it owes, and why nobody works on it' }),
        fault: z.enum(faultKinds).nullable(),
        usable: z.boolean().meta({ description: 'False when its worktree is gone: it can not be revived' }),
      }),
    ),
    revived: z.array(nodeId).meta({ description: 'They start one after another, some a second' }),
    has_more: z.boolean(),
  })
  .meta({ id: 'ReviveAllAnswer' })
export type ReviveAllAnswer = z.infer<typeof reviveAllAnswer>
