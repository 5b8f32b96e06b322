import { z } from 'zod'
import { pageOf, pageQuery, queryInt, time } from './common.schema.js'
import { operation } from './define.js'

/** One line of the audit log. Metadata alone: no body, no query, no token. */
export const auditEntry = z
  .object({
    seq: z.int().min(1),
    at: time,
    actor: z.object({
      kind: z.enum(['owner', 'app', 'run', 'node', 'pub', 'system', 'nobody']),
      principal: z.string(),
      token_id: z.string().nullable(),
    }),
    operation: z.string().nullable().meta({ description: 'Name of the operation; null where no route was met' }),
    resource: z.string().nullable().meta({ description: 'The path of the request, without its query' }),
    decision: z.enum(['allowed', 'denied']),
    code: z.string().nullable().meta({ description: 'Why it was denied' }),
    listener: z.enum(['owner', 'app']),
    remote: z.string().nullable(),
    request_id: z.string(),
    repeated: z.int().min(1).meta({ description: 'How many alike this line stands for' }),
    hash: z.string().meta({
      description: 'Hex SHA-256 over the previous line’s hash and the canonical JSON of this line without `hash`',
    }),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = z.infer<typeof auditEntry>

export const auditOperations = [
  operation({
    name: 'audit.list',
    kind: 'route',
    summary: 'What was done with the owner’s rights and what was denied, the newest first',
    service: 'gateway',
    method: 'GET',
    path: '/v1/audit',
    listeners: ['owner'],
    gate: 'owner',
    query: z.strictObject({
      ...pageQuery,
      order: z.enum(['newest', 'oldest']).default('newest'),
      decision: z.enum(['allowed', 'denied']).optional(),
      principal: z.string().max(200).optional(),
      operation: z.string().max(100).optional(),
      since_seq: queryInt(0, Number.MAX_SAFE_INTEGER).optional(),
    }),
    response: pageOf(auditEntry),
  }),
] as const
