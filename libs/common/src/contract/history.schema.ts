import { z } from 'zod'
import { canvasLimits } from './canvas.schema.js'
import { nodeId, queryInt, time } from './common.schema.js'

export const passageKinds = ['user', 'assistant', 'reasoning', 'tool', 'report', 'mail'] as const
export type PassageKind = (typeof passageKinds)[number]

/** Where a text stands: `ref` is the position of its journal entry, mail or report within the node. */
const place = {
  node_id: nodeId,
  node_name: z.string(),
  kind: z.enum(passageKinds),
  turn: z.int().nullable(),
  step: z.int().nullable(),
  label: z.string().nullable().meta({ description: 'Name of the tool, kind of the report, sender of the mail' }),
  ref: z.int(),
  at: time,
}

const confinement = {
  under: nodeId.optional().meta({ description: 'Only nodes at or below this one' }),
  kinds: z.array(z.enum(passageKinds)).min(1).max(passageKinds.length).optional(),
}

export const searchBody = z.strictObject({
  query: z
    .string()
    .trim()
    .min(1)
    .max(canvasLimits.queryLength)
    .meta({
      description: 'Words that must occur; `"a phrase"`, `or`, `-without`',
      examples: ['"connection refused" -test'],
    }),
  ...confinement,
  limit: z.int().min(1).max(100).default(20),
  after: z.string().max(512).optional(),
})

export const searchHit = z
  .object({
    ...place,
    line: z.int().meta({ description: 'Line of its text at which the passage begins' }),
    score: z.number(),
    snippet: z.string(),
    highlights: z
      .array(z.tuple([z.int(), z.int()]))
      .meta({ description: 'Where the words stand in the snippet: from and to, in UTF-16 units' }),
  })
  .meta({ id: 'SearchHit' })
export type SearchHit = z.infer<typeof searchHit>

export const searchAnswer = z
  .object({
    hits: z.array(searchHit),
    next_cursor: z.string().nullable(),
    complete: z
      .boolean()
      .meta({ description: 'False when more passages fit than are ranked: the newest five hundred were' }),
    indexing: z.boolean().meta({ description: 'Text that was written a moment ago may not be found yet' }),
  })
  .meta({ id: 'SearchAnswer' })

export const grepBody = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(canvasLimits.patternLength)
    .meta({
      description: 'A regular expression in the syntax of RE2, for one line, in either case',
      examples: ['ECONN(REFUSED|RESET)'],
    }),
  node: nodeId.optional().meta({ description: 'Only this node' }),
  ...confinement,
  limit: z.int().min(1).max(500).default(100).meta({ description: 'Lines at most' }),
  context: z.int().min(0).max(5).default(0).meta({ description: 'Lines shown around each' }),
  after: z.string().max(512).optional(),
})

export const grepMatch = z
  .object({
    ...place,
    line: z.int().meta({ description: 'Number of the line in its text, from 1' }),
    text: z.string().meta({ description: 'The line; a long one is cut around what was found' }),
    before: z.array(z.string()),
    after: z.array(z.string()),
  })
  .meta({ id: 'GrepMatch' })
export type GrepMatch = z.infer<typeof grepMatch>

export const grepAnswer = z
  .object({
    matches: z.array(grepMatch).meta({ description: 'The newest text first, its lines in order' }),
    next_cursor: z.string().nullable().meta({ description: 'Go on from here; null when all was looked at' }),
    cut: z
      .enum(['limit', 'time', 'bytes'])
      .nullable()
      .meta({ description: 'Why it stopped before the end: enough lines, or the bound of one request' }),
    scanned_bytes: z.int(),
    indexing: z.boolean(),
  })
  .meta({ id: 'GrepAnswer' })

export const readQuery = z.strictObject({
  node: nodeId,
  from: queryInt(1, 2_000_000_000).optional().meta({ description: 'First turn' }),
  to: queryInt(1, 2_000_000_000).optional().meta({ description: 'Last turn' }),
  limit: queryInt(1, 500).default(200),
  after: z.string().max(512).optional(),
})

export const historyEntry = z
  .object({
    ref: z.int(),
    turn: z.int(),
    step: z.int().nullable(),
    kind: z.enum(['turn', ...passageKinds]),
    label: z.string().nullable(),
    text: z.string(),
    at: time,
  })
  .meta({ id: 'HistoryEntry' })
export type HistoryEntry = z.infer<typeof historyEntry>

export const statsBody = z.strictObject({
  under: nodeId.optional(),
  since: time.optional(),
  until: time.optional(),
  by: z.enum(['day', 'model', 'app', 'kind']).optional(),
})

const figures = {
  nodes: z.int().meta({ description: 'Nodes that did any of this' }),
  turns: z.int(),
  calls: z.int().meta({ description: 'Calls of models' }),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cached_tokens: z.int(),
  cost_usd: z.number(),
}

export const statsAnswer = z
  .object({
    total: z.object(figures),
    groups: z.array(
      z.object({
        key: z.string().nullable().meta({ description: 'The day, model, application or kind; null: none' }),
        ...figures,
      }),
    ),
    truncated: z.boolean().meta({ description: 'Whether there are more groups than the thousand shown' }),
  })
  .meta({ id: 'HistoryStats' })
