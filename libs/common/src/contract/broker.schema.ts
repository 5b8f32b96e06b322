import { z } from 'zod'
import { attachmentInfo } from './attachment.schema.js'
import { jsonSchema, nodeId, ordinal, time } from './common.schema.js'
import { delta, execSpec, faultKinds, messageTiers } from './node.schema.js'
import { persona } from './persona.schema.js'

export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const
/** What the strictest provider takes: 5 MiB of base64, 3.75 MiB of file. */
const imageLength = 5 * 1024 * 1024

/** Images that a tool answered, beside its text. */
const toolImages = z
  .array(z.strictObject({ content_type: z.enum(imageTypes), base64: z.string().max(imageLength) }))
  .max(8)
  .optional()

/** Content of the messages that a conversation is made of, the same for every model provider. */
export const contentPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string(), provider_metadata: z.unknown().optional() }),
  z.object({ type: z.literal('reasoning'), text: z.string(), provider_metadata: z.unknown().optional() }),
  z.object({ type: z.literal('image'), content_type: z.string(), base64: z.string() }),
  z.object({
    type: z.literal('tool_call'),
    call_id: z.string(),
    name: z.string(),
    input: z.unknown(),
    invalid: z
      .string()
      .optional()
      .meta({ description: 'Why the input could not be read, when the model sent none that fits' }),
    provider_metadata: z.unknown().optional(),
  }),
  z.object({
    type: z.literal('tool_result'),
    call_id: z.string(),
    name: z.string(),
    output: z.string(),
    failed: z.boolean().default(false),
    images: toolImages,
  }),
])
export type ContentPart = z.infer<typeof contentPart>

export const conversationMessage = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.array(contentPart),
})
export type ConversationMessage = z.infer<typeof conversationMessage>

export const toolDefinition = z.object({
  name: z.string().min(1).max(64),
  description: z.string(),
  input_schema: jsonSchema,
})
export type ToolDefinition = z.infer<typeof toolDefinition>

/**
 * `kickoff` stands at the beginning of a fresh context, as `prompt` does at the beginning of a node; `answer` is what a
 * person says to a question.
 */
export const mailKinds = ['prompt', 'kickoff', 'message', 'report', 'notice', 'answer', 'event'] as const
export const mailEntry = z.object({
  id: z.string(),
  seq: z.int(),
  tier: z.enum(messageTiers),
  kind: z.enum(mailKinds),
  body: z.string(),
  source: z.object({
    kind: z.enum(['owner', 'app', 'run', 'node', 'system', 'object']),
    id: z.string().nullable(),
    name: z.string().optional(),
    event: z
      .object({ id: z.string(), name: z.string(), trace_id: z.string().nullable() })
      .optional()
      .meta({ description: 'The event that it is about, of what the node watches' }),
  }),
  attachments: z
    .array(attachmentInfo)
    .optional()
    .meta({ description: 'Read each at `GET /v1/nodes/{id}/attachments/{attachment_id}`' }),
  traceparent: z.string().optional().meta({
    description: 'W3C trace context of the request that it comes of: whoever works at it goes on with that trace',
  }),
  created_at: time,
})
export type MailEntry = z.infer<typeof mailEntry>

export const toolCallStatuses = ['started', 'completed', 'failed', 'canceled', 'outcome_unknown'] as const
export const turnStatuses = ['completed', 'interrupted', 'failed'] as const

const [turn, step] = [ordinal, ordinal]

/** Entries of a node's journal: what its engine did, in order, append-only. */
export const journalEntry = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('turn_started'),
    turn,
    mail: z.array(z.string()).max(500),
    content: z.array(contentPart),
  }),
  z.strictObject({
    type: z.literal('message'),
    turn,
    step,
    role: z.enum(['user', 'assistant']),
    content: z.array(contentPart),
    model: z.string().optional(),
    context: z
      .strictObject({ tokens: z.int().min(0).max(1_000_000_000), window: ordinal })
      .optional()
      .meta({
        description:
          'Of an answer: tokens of the conversation up to and with it, as its provider counted them, and how many its model takes',
      }),
  }),
  z.strictObject({
    type: z.literal('compacted'),
    turn,
    step: step.meta({ description: 'The step that it made room for' }),
    kept: z.int().min(0).meta({
      description:
        'Entries right before this one that stay in the conversation as they are; the older ones are made smaller',
    }),
    summary: z
      .string()
      .max(65_536)
      .nullable()
      .meta({ description: 'Stands for the older entries; null: only the long outputs of tools are left out of them' }),
    model: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal('tool_started'),
    turn,
    step,
    call_id: z.string(),
    name: z.string(),
    input: z.unknown(),
  }),
  z.strictObject({
    type: z.literal('tool_ended'),
    turn,
    step,
    call_id: z.string(),
    name: z.string(),
    status: z.enum(['completed', 'failed', 'canceled', 'outcome_unknown']),
    output: z.string(),
    images: toolImages,
    duration_ms: z.int().min(0).optional(),
    exit_code: z.int().nullable().optional(),
  }),
  z.strictObject({
    type: z.literal('turn_ended'),
    turn,
    status: z.enum(turnStatuses),
    fault: z
      .strictObject({
        kind: z.enum(faultKinds),
        message: z.string().max(4000),
        retry_after_ms: z.int().min(0).optional(),
      })
      .optional(),
    final: z
      .string()
      .optional()
      .meta({ description: 'The final report that a terminal node ends with, when the turn gave none itself' }),
  }),
])
export type JournalEntry = z.infer<typeof journalEntry>

export const journalRecord = z.object({ ord: z.int(), generation: z.int(), created_at: time, entry: journalEntry })
export type JournalRecord = z.infer<typeof journalRecord>

/** All that a broker needs to host its node. */
export const assignment = z.object({
  node_id: nodeId,
  generation: z.int(),
  engagement: z.int(),
  name: z.string(),
  kind: z.string(),
  mode: z.enum(['base', 'orchestrator']),
  lifecycle: z.enum(['terminal', 'resident']),
  engine: z.string(),
  exec: execSpec.nullable(),
  cwd: z.string(),
  model: z.object({ strength: z.string(), override: z.string().optional() }),
  scopes: z.array(z.string()),
  result_schema: jsonSchema.nullable(),
  parent: z.object({ id: nodeId, name: z.string() }).nullable(),
  depth: z.int().meta({ description: 'How many nodes stand behind its making; 0 unless a node made it' }),
  persona: persona.nullable(),
  reported: z.boolean().meta({ description: 'Whether this engagement has its final report already' }),
  context: z.int(),
  turn: z.int().meta({ description: 'The last turn that was begun; the next one has a higher number' }),
  forked_from: z.object({ node_id: nodeId, turn: z.int() }).nullable(),
  first_ord: z
    .int()
    .meta({ description: 'Where the present context begins in the journal; what stands before is history' }),
  next_ord: z.int(),
  journal: z.array(journalRecord).meta({
    description:
      'The first page of the present context, from `first_ord` on, oldest first; the rest up to `next_ord` is read by pages',
  }),
  mail: z.array(mailEntry).meta({ description: 'The first batch of mail, leased to this generation for 30 s' }),
})
export type Assignment = z.infer<typeof assignment>

/** What a node waits for: what ends of it wakes the node. */
export const waitedFor = z.object({
  kind: z.enum(['child', 'job', 'timer', 'answer']).meta({
    description: '`child`: a node below, or one that it watches actively. `timer`: its own wait.',
  }),
  id: z.string(),
  name: z.string().optional(),
})
export type WaitedFor = z.infer<typeof waitedFor>

export const settlement = z.object({
  directive: z.enum(['continue', 'finish', 'wait', 'yield', 'stop']).meta({
    description:
      '`continue`: end the turn, mail waits for the next one. `finish`: nothing is waited for: a terminal node ends with its report. `wait`: end the turn without a final report. `yield`: end it, a fresh context begins. `stop`: the node has ended.',
  }),
  waits_for: z.array(waitedFor),
})
export type Settlement = z.infer<typeof settlement>

/** What the daemon wants of a broker now. Level-triggered: the present state is sent on every connect. */
export const brokerSignal = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('mail'),
    urgent: z.boolean().meta({ description: 'Some of it steers: take it at the next step' }),
    critical: z.boolean(),
  }),
  z.object({ type: z.literal('interrupt'), request: z.int() }),
  z.object({ type: z.literal('stop'), reason: z.string() }),
  z
    .object({
      type: z.literal('changed'),
      name: z.string(),
      kind: z.string(),
      mode: z.enum(['base', 'orchestrator']),
      lifecycle: z.enum(['terminal', 'resident']),
      model: z.object({ strength: z.string(), override: z.string().optional() }),
      persona: persona.nullable(),
    })
    .meta({ description: 'What the node is now, where the assignment said otherwise' }),
])
export type BrokerSignal = z.infer<typeof brokerSignal>

export const deltaBatch = z.strictObject({ deltas: z.array(delta).max(500) })
