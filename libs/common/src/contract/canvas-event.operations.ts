import { z } from 'zod'
import { nodeId, pageOf, pageQuery, time } from './common.schema.js'
import { operation } from './define.js'
import { type NodeEventType, nodeEvent, nodeEventTypes } from './node.schema.js'

const owner = ['owner'] as const

const families = [...new Set(nodeEventTypes.map((type) => `${type.split('.')[0]}.*`))]

/** The kinds that a list names; `node.*` names all that begin so. Undefined for a name that is no kind. */
const kindsOf = (text: string): NodeEventType[] | undefined => {
  const found = text.split(',').map((name) => {
    const wanted = name.trim()
    if (families.includes(wanted)) return nodeEventTypes.filter((type) => type.startsWith(wanted.slice(0, -1)))
    return nodeEventTypes.filter((type) => type === wanted)
  })
  return found.some((kinds) => kinds.length === 0) ? undefined : [...new Set(found.flat())]
}

const types = z
  .string()
  .max(2000)
  .transform((text, ctx) => {
    const kinds = kindsOf(text)
    if (kinds) return kinds
    ctx.addIssue({ code: 'custom', message: `must be kinds of events between commas; one of ${families.join(', ')}` })
    return z.NEVER
  })
  .optional()
  .meta({ description: 'Only these kinds, between commas; `node.*` names all that begin so' })

const under = nodeId.optional().meta({ description: 'Only nodes at or below this one, those made later included' })

export const canvasEventOperations = [
  operation({
    name: 'canvas.events',
    kind: 'route',
    summary: 'Read the durable events of all nodes: live as a stream, or by pages',
    description:
      'Every event once, in an order that keeps that of each node and of each tree. Pages begin with the oldest event that is kept, a stream with what happens from now on, unless `after` or `since` says otherwise. Positions are opaque. A page may hold fewer events than its limit, or none, while `has_more` says that there are more. Events of a node go with it when it is pruned.',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/canvas/events',
    listeners: owner,
    gate: 'own',
    answer: 'negotiated',
    query: z.strictObject({
      ...pageQuery,
      after: z
        .string()
        .max(512)
        .optional()
        .meta({ description: 'Go on after this position; `Last-Event-ID` says the same' }),
      since: time.optional().meta({ description: 'Begin with the events of this time; `after` overrules it' }),
      types,
      under,
    }),
    response: pageOf(nodeEvent),
    item: nodeEvent,
    errors: ['not_found', 'cursor_expired', 'malformed_request'],
  }),
  operation({
    name: 'lifecycle.canvas.readEvents',
    kind: 'internal',
    summary: 'Events of all nodes that the caller may see, after a position',
    service: 'lifecycle',
    body: z.object({
      after: z.string().optional(),
      since: time.optional(),
      from: z.enum(['oldest', 'now']).default('oldest').meta({ description: 'Where it begins without a position' }),
      types: z.array(z.string()).optional(),
      under: nodeId.optional(),
      limit: z.int().min(1).max(500).default(200),
    }),
    response: z.object({
      events: z.array(nodeEvent.extend({ position: z.string() })),
      position: z.string().meta({ description: 'Up to here everything was looked at' }),
      more: z.boolean().meta({ description: 'Whether there is more to read after it now' }),
      pending: z
        .boolean()
        .meta({ description: 'Whether events wait for an older transaction to end before they are handed out' }),
    }),
    errors: ['not_found', 'cursor_expired', 'malformed_request'],
  }),
] as const
