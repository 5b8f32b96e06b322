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
    resource: z
      .string()
      .nullable()
      .meta({ description: 'The path of the request, without its query; cut where it is long, and without tokens' }),
    decision: z.enum(['allowed', 'denied']).meta({ description: '`allowed` says nothing of how the request ended' }),
    code: z.string().nullable().meta({ description: 'Why it was denied' }),
    listener: z.enum(['owner', 'app']),
    remote: z.string().nullable(),
    request_id: z.string(),
    repeated: z.int().min(1).meta({ description: 'How many alike this line stands for' }),
    hash: z.string().meta({
      description:
        'SHA-256 in hex over the 32 bytes of the hash of the line before and the UTF-8 of this line without `hash` as RFC 8785 writes it',
    }),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = z.infer<typeof auditEntry>

const position = z.object({ seq: z.int().min(0), hash: z.string() })

export const auditPage = pageOf(auditEntry)
  .extend({
    anchor: position.meta({ description: 'The last line that was pruned: the first kept one follows its hash' }),
    head: position.meta({ description: 'The newest line' }),
  })
  .meta({ id: 'AuditPage' })
export type AuditPage = z.infer<typeof auditPage>

export const auditOperations = [
  operation({
    name: 'audit.list',
    kind: 'route',
    description:
      'Each line’s `seq` is one more than that of the line before, and its `hash` covers it: `svc sys audit --verify` shows that none was changed or taken out.',
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
      since_seq: queryInt(0, Number.MAX_SAFE_INTEGER).optional().meta({ description: 'Lines after this one' }),
    }),
    response: auditPage,
  }),
] as const
