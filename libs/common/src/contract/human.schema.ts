import { z } from 'zod'
import { actorRef, idOf, nodeId, time } from './common.schema.js'

export const humanRequestId = idOf('req')

export const humanRequestStatuses = ['pending', 'answered', 'dismissed', 'canceled', 'expired'] as const
export type HumanRequestStatus = (typeof humanRequestStatuses)[number]

export const humanPageKinds = ['decision', 'notify', 'context', 'error'] as const

export const humanLimits = {
  pages: 20,
  options: 50,
  titleLength: 200,
  bodyLength: 16_384,
  freetextLength: 16_384,
  commentLength: 2000,
  /** Open requests of one asker. */
  open: 100,
} as const

/** Of a page or an option, chosen by who asks. */
const localId = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be 1 to 64 characters of A-Z, a-z, 0-9, _ . -')
const title = z.string().min(1).max(humanLimits.titleLength)
const bodyText = z.string().max(humanLimits.bodyLength)
const freetext = z.string().max(humanLimits.freetextLength)

const unique = (entries: readonly { id: string }[]): boolean =>
  new Set(entries.map(({ id }) => id)).size === entries.length

export const humanOption = z.strictObject({
  id: localId,
  label: title,
  description: z.string().max(humanLimits.commentLength).optional(),
})

const chosen = {
  selectedOptionId: localId.optional(),
  selectedOptionIds: z.array(localId).max(humanLimits.options).optional(),
  freetext: freetext.optional(),
}

/** One entry a page: a decision, or that the page was read. */
export const humanResponseItem = z.strictObject({
  id: localId.meta({ description: 'The page' }),
  ...chosen,
  optionComments: z
    .record(localId, z.string().max(humanLimits.commentLength))
    .optional()
    .meta({ description: 'Remarks on options, by their ids' }),
})
export type HumanResponseItem = z.infer<typeof humanResponseItem>

export const humanResponse = z.array(humanResponseItem).max(humanLimits.pages)

export const humanPage = z
  .strictObject({
    id: localId,
    kind: z.enum(humanPageKinds).meta({
      description: '`decision` must be decided; `notify` and `error` must be acknowledged; `context` only informs',
    }),
    title,
    subtitle: title.optional(),
    body: bodyText.optional().meta({ description: 'Markdown' }),
    options: z.array(humanOption).max(humanLimits.options).refine(unique, 'must have ids of their own').default([]),
    multiSelect: z.boolean().default(false),
    allowFreetext: z.boolean().default(false),
    freetextLabel: title.optional(),
    preAnswered: z
      .strictObject(chosen)
      .optional()
      .meta({ description: 'What stands unless the person says otherwise' }),
  })
  .meta({ id: 'HumanPage' })
export type HumanPage = z.infer<typeof humanPage>

const pages = z.array(humanPage).min(1).max(humanLimits.pages).refine(unique, 'must have ids of their own')

const content = {
  title,
  subtitle: title.optional(),
  pages,
  deadline: time
    .optional()
    .meta({ description: 'After it nobody can answer any more: `default` stands, or it has expired unanswered' }),
  default: humanResponse.optional().meta({ description: 'What silence decides; needs a `deadline`' }),
  waiting_cost: z.string().max(500).optional().meta({ description: 'What it costs to wait, for the person to see' }),
}

export const humanRequestCreate = z.strictObject({
  kind: z.enum(['deck']).default('deck'),
  ...content,
  node_id: nodeId
    .optional()
    .meta({ description: "Who is told the answer; a node's own token asks for itself unless it says otherwise" }),
  dedupe_key: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'While a request with this key of yours is open, asking again answers that one' }),
})
export type HumanRequestCreate = z.infer<typeof humanRequestCreate>

const ifMatch = z.int().min(1).optional().meta({ description: 'Only when the request is at this version' })

export const humanRequestReplace = z.strictObject({ ...content, if_match: ifMatch })

export const humanRespondBody = z.strictObject({ response: humanResponse, if_match: ifMatch })

export const humanReasonBody = z.strictObject({ reason: z.string().min(1).max(humanLimits.commentLength).optional() })

export const humanRequest = z
  .object({
    id: humanRequestId,
    kind: z.enum(['deck']),
    title: z.string(),
    subtitle: z.string().nullable(),
    pages: z.array(humanPage),
    status: z.enum(humanRequestStatuses),
    node_id: nodeId.nullable(),
    app_id: z.string().nullable(),
    asked_by: actorRef,
    deadline: time.nullable(),
    default: humanResponse.nullable(),
    waiting_cost: z.string().nullable(),
    dedupe_key: z.string().nullable(),
    response: humanResponse
      .nullable()
      .meta({ description: 'What was answered; of one that has expired: what silence decided' }),
    reason: z.string().nullable().meta({ description: 'Why it was dismissed or canceled' }),
    resolved_by: actorRef.nullable(),
    resolved_at: time.nullable(),
    version: z.int().min(1),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'HumanRequest' })
export type HumanRequest = z.infer<typeof humanRequest>
