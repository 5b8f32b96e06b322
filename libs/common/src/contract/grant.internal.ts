import { z } from 'zod'
import { appId, grantStatuses } from './app.schema.js'
import { operation } from './define.js'

/** A grant as lifecycle keeps it: what it starts for an app without a request of the app's is held to it. */
export const toldGrant = z.object({
  app_id: appId,
  scopes: z.array(z.string()),
  profiles: z.array(z.string()).nullable(),
  version: z.int().min(1),
  status: z.enum(grantStatuses),
})
export type ToldGrant = z.infer<typeof toldGrant>

/** Spoken between the gateway, which keeps the grants, and lifecycle. */
export const grantInternals = [
  operation({
    name: 'lifecycle.grant.changed',
    kind: 'internal',
    summary: 'What apps are granted now; a version that is known already, or an older one, changes nothing',
    service: 'lifecycle',
    body: z.object({ grants: z.array(toldGrant).min(1).max(500) }),
    response: z.object({ noted: z.int().min(0) }),
    idempotency: 'natural',
  }),
] as const
