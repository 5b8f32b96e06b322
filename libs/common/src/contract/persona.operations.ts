import { z } from 'zod'
import { operation } from './define.js'
import { strengths } from './node.schema.js'

export const kind = z
  .object({
    kind: z.string(),
    source: z.enum(['built_in', 'persona']),
    description: z.string(),
    strength: z.enum(strengths).nullable().meta({
      description: 'Where the body of a create names no model; null: that of the parent, `medium` for a root',
    }),
    mode: z.enum(['base', 'orchestrator']).nullable().meta({ description: 'Where the body of a create names none' }),
    lifecycle: z.enum(['terminal', 'resident']).nullable(),
    tools: z
      .array(z.string())
      .nullable()
      .meta({ description: 'The only tools it has; null: all that its scopes give' }),
    fault: z.string().nullable().meta({ description: 'Why no node can be made with it' }),
  })
  .meta({ id: 'Kind' })
export type Kind = z.infer<typeof kind>

export const personaOperations = [
  operation({
    name: 'kinds.list',
    kind: 'untyped',
    summary: 'List the kinds that a node may have: the built-in ones and the personas of the owner',
    description:
      'A persona is a file `<kind>.md` in the directory `personas` of the data directory (or `SVC_PERSONAS_DIR`); it is read whenever a node is made with it.',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/kinds',
    listeners: ['owner'],
    gate: 'own',
    response: z.object({ data: z.array(kind) }),
  }),
] as const
