import { z } from 'zod'
import { attachmentInfo, attachmentInputs } from './attachment.schema.js'
import { absolutePath, actorRef, jsonSchema, nodeId, slug, time, usage } from './common.schema.js'
import { worktree, worktreeCreate } from './worktree.schema.js'

export const nodeStatuses = ['active', 'idle', 'done', 'dead', 'canceled'] as const
export type NodeStatus = (typeof nodeStatuses)[number]

export const nodeIntents = ['done', 'refresh', 'idle_release'] as const
export type NodeIntent = (typeof nodeIntents)[number]

export const messageTiers = ['critical', 'urgent', 'normal', 'deferred'] as const
export type MessageTier = (typeof messageTiers)[number]

export const strengths = ['light', 'medium', 'strong', 'ultra'] as const
export const strength = z.enum(strengths)
export type Strength = z.infer<typeof strength>

export const faultKinds = [
  'rate_limit',
  'overloaded',
  'connection',
  'auth',
  'model_not_found',
  'grant',
  'crash_loop',
  'other',
] as const

export const nodeLimits = {
  nameLength: 128,
  descriptionLength: 512,
  promptBytes: 256 * 1024,
  depth: 8,
  children: 64,
  unreadMail: 10_000,
  reportBytes: 256 * 1024,
  resultBytes: 512 * 1024,
} as const

const bytesAtMost = (limit: number) => (text: string) =>
  text.length * 3 <= limit || new TextEncoder().encode(text).length <= limit

export const promptText = z
  .string()
  .min(1)
  .refine(bytesAtMost(nodeLimits.promptBytes), `must be at most ${nodeLimits.promptBytes} bytes`)

const reportText = z
  .string()
  .min(1)
  .refine(bytesAtMost(nodeLimits.reportBytes), `must be at most ${nodeLimits.reportBytes} bytes`)

export const engineName = z
  .string()
  .regex(/^(loop|exec)$/, 'must be loop or exec')
  .meta({
    description: '`loop`: the built-in agent. `exec`: a program of the caller, given as `exec.argv`; needs no model.',
  })

/** What the system passes to a program ends at the first U+0000. */
const argument = z
  .string()
  .max(32_768)
  .refine((text) => !text.includes('\0'), 'may not hold the character U+0000')

export const execSpec = z.strictObject({
  argv: z.array(argument).min(1).max(256).meta({ description: 'The program and its arguments; no shell.' }),
  stdin: z.enum(['jsonl', 'text']).default('jsonl').meta({
    description:
      '`jsonl`: the prompt and then each mail as one line of JSON, standard input kept open. `text`: the prompt as it is, then end of file.',
  }),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), argument).optional(),
})
export type ExecSpec = z.infer<typeof execSpec>

/** What it waits for by its own word; reports, messages and answers wake it in any case. */
export const nodeWait = z.object({
  since: time,
  until: time.nullable().meta({ description: 'When it is woken at the latest; null: not by the clock' }),
  reason: z.string().nullable(),
})
export type NodeWait = z.infer<typeof nodeWait>

/** Where a root stands that is to take the place of another one. */
export const successions = ['booting', 'taken_over', 'failed'] as const
export type Succession = (typeof successions)[number]

export const modelChoice = z.strictObject({
  strength: strength.default('medium'),
  override: z.string().max(200).optional().meta({ description: '`provider/model`, instead of the ladder' }),
})

/** What a node waits for that can't go on by waiting alone. */
export const faultHolds = ['provider', 'credential', 'grant'] as const

export const fault = z.object({
  kind: z.enum(faultKinds),
  message: z.string(),
  since: time.meta({ description: 'First failure of this kind in a row' }),
  last_at: time.optional().meta({ description: 'Last failure' }),
  tries: z.int().optional().meta({ description: 'Failures of this kind in a row' }),
  retry_at: time.optional().meta({ description: 'When it is tried again at the latest' }),
  held_for: z.enum(faultHolds).optional().meta({
    description:
      '`provider`: tried again as soon as its provider answers. `credential`: as soon as a person has installed one that works. `grant`: as soon as its app is granted again what it runs on.',
  }),
})
export type Fault = z.infer<typeof fault>

export const node = z
  .object({
    id: nodeId,
    name: z.string(),
    description: z.string().nullable(),
    kind: z.string(),
    mode: z.enum(['base', 'orchestrator']),
    lifecycle: z.enum(['terminal', 'resident']),
    status: z.enum(nodeStatuses),
    intent: z.enum(nodeIntents).nullable(),
    parent_id: nodeId.nullable(),
    root_id: nodeId,
    spawned_by: z.string().nullable(),
    forked_from: z.object({ node_id: nodeId, turn: z.int() }).nullable(),
    succeeds: nodeId.nullable().meta({ description: 'The root whose place it takes' }),
    succession: z.enum(successions).nullable(),
    engine: engineName,
    exec: execSpec.nullable(),
    cwd: z.string(),
    worktree: worktree.nullable(),
    model: z.object({ strength, override: z.string().optional() }),
    scopes: z.array(z.string()),
    scopes_explicit: z.boolean(),
    app_id: z.string().nullable(),
    profile: z.string().nullable(),
    env_profile: z.string().nullable().meta({ description: 'The profile that it was made with' }),
    run_id: z.string().nullable(),
    cycles: z.int(),
    generation: z.int(),
    engagement: z.int(),
    context: z.int().meta({ description: 'How many conversations it has begun: 1, and one more with each refresh' }),
    waiting: nodeWait.nullable().meta({ description: 'Set while it waits by its own word' }),
    broker: z.object({ host_id: z.string(), pid: z.int(), started_at: time, heartbeat_at: time }).nullable(),
    result_schema: jsonSchema.nullable(),
    usage,
    answered_by: z.string().nullable().meta({ description: '`provider/model` that really answered it last' }),
    fault: fault.nullable(),
    streaming: z.boolean(),
    attention_count: z.int(),
    version: z.int(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Node' })
export type Node = z.infer<typeof node>

export const nodeCreate = z.strictObject({
  prompt: promptText.meta({ description: 'What the node is to do; at most 256 KiB' }),
  kind: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)
    .optional()
    .meta({ description: 'Role of the node, one of `GET /v1/kinds`; `general` unless given' }),
  mode: z.enum(['base', 'orchestrator']).optional(),
  lifecycle: z.enum(['terminal', 'resident']).optional().meta({
    description:
      '`terminal` owes a final report; `resident` stays between messages. A root is resident, a child terminal, unless given.',
  }),
  name: z.string().min(1).max(nodeLimits.nameLength).optional(),
  parent_id: nodeId
    .optional()
    .meta({ description: "Spine parent; a node's own token makes children of itself unless it says `root`" }),
  root: z.boolean().optional(),
  cwd: absolutePath
    .optional()
    .meta({ description: "Working directory; the parent's unless given. A root must name one." }),
  worktree: worktreeCreate.optional(),
  model: modelChoice.optional(),
  scopes: z.array(z.string().max(512)).max(200).optional(),
  result_schema: jsonSchema.optional(),
  engine: engineName.optional(),
  exec: execSpec.optional(),
  env_profile: slug.optional().meta({ description: 'A profile, whose defaults stand where this body says nothing' }),
  attachments: attachmentInputs,
})
export type NodeCreate = z.infer<typeof nodeCreate>

export const messageBody = z.strictObject({
  body: promptText,
  tier: z.enum(messageTiers).default('normal'),
  attachments: attachmentInputs,
})

export const messageReceipt = z.object({
  message_id: z.string(),
  delivered: z.enum(['live', 'queued', 'revived']),
})

export const reportKinds = ['update', 'urgent', 'final'] as const
export const report = z
  .object({
    id: z.string(),
    node_id: nodeId,
    engagement: z.int(),
    kind: z.enum(reportKinds),
    body: z.string(),
    attachments: z
      .array(attachmentInfo)
      .meta({ description: 'Read each at `GET /v1/nodes/{id}/attachments/{attachment_id}`' }),
    created_at: time,
  })
  .meta({ id: 'Report' })
export type Report = z.infer<typeof report>

export const reportBody = z.strictObject({
  kind: z.enum(reportKinds).default('update'),
  body: reportText,
  attachments: attachmentInputs,
})

export const outcome = z
  .object({
    node_id: nodeId,
    engagement: z.int(),
    status: z.enum(nodeStatuses),
    settled: z
      .boolean()
      .meta({ description: 'Whether this engagement has ended: done, dead or canceled, or a resident that went idle' }),
    final_report: report.nullable(),
    result: z.unknown().optional(),
    error: z.object({ kind: z.string(), message: z.string() }).nullable(),
    usage,
  })
  .meta({ id: 'Outcome' })
export type Outcome = z.infer<typeof outcome>

export const cancelResult = z.object({ canceled: z.array(nodeId), spared: z.array(nodeId) })

/** Kinds of the durable events of a node. */
export const nodeEventTypes = [
  'node.created',
  'node.launching',
  'node.bound',
  'node.idle',
  'node.done',
  'node.dead',
  'node.canceled',
  'node.revived',
  'node.refreshing',
  'node.interrupted',
  'node.fault',
  'node.fault_cleared',
  'node.usage',
  'node.updated',
  'node.forked',
  'node.promoted',
  'node.demoted',
  'node.yielded',
  'node.refreshed',
  'node.waiting',
  'node.woken',
  'node.recycled',
  'node.relaunching',
  'node.relaunched',
  'node.relaunch_failed',
  'subscription.added',
  'subscription.removed',
  'roadmap.changed',
  'question.asked',
  'question.resolved',
  'message.accepted',
  'report.pushed',
  'result.submitted',
  'child.reported',
  'child.ended',
  'context.compacted',
  'turn.started',
  'message.completed',
  'tool.started',
  'tool.ended',
  'job.started',
  'job.ended',
  'turn.ended',
  'model.call_unknown',
  'worktree.opened',
  'worktree.closed',
  'worktree.abandoned',
  'worktree.failed',
] as const
export type NodeEventType = (typeof nodeEventTypes)[number]

export const nodeEvent = z
  .object({
    id: z.string(),
    seq: z.int().meta({ description: "Position in the node's own sequence: 1, 2, 3 … without a gap" }),
    type: z.string(),
    time,
    subject: nodeId,
    actor: actorRef,
    correlation_id: z.string().nullable(),
    causation_id: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'NodeEvent' })
export type NodeEvent = z.infer<typeof nodeEvent>

/** A live delta: never stored; one who missed some is sent a `message.snapshot`. */
export const delta = z.object({
  generation: z.int(),
  message: z.int().meta({ description: 'Number of the message in progress within the generation' }),
  channel: z.enum(['text', 'reasoning', 'tool_input', 'tool_output', 'stdout', 'stderr']),
  call_id: z.string().optional(),
  offset: z.int().meta({ description: 'Characters of this channel that came before' }),
  text: z.string(),
})
export type Delta = z.infer<typeof delta>

/** What `stream` sends: first `snapshot`, then durable events, deltas and output of jobs as they come, last `end`. */
export const streamItem = z.object({ type: z.string(), data: z.record(z.string(), z.unknown()) })
