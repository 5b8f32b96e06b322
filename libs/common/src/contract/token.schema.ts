import { z } from 'zod'
import { appId, appRef } from './app.schema.js'
import { idOf, nodeId, time } from './common.schema.js'

export const tokenId = idOf('tok')

export const tokenStatuses = ['active', 'expired', 'revoked'] as const

/** A token as its owner may look at it: never the token itself. */
export const token = z
  .object({
    id: tokenId,
    kind: z.enum(['own', 'app', 'run', 'pub', 'rt']),
    label: z.string().nullable(),
    app_id: appId.nullable(),
    profile: z.string().nullable().meta({ description: "The app's profile that it is confined to" }),
    object_id: idOf('obj').nullable().meta({ description: 'The object whose events it publishes' }),
    scopes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Its own list; null: whatever the grant of its app holds at the time' }),
    status: z.enum(tokenStatuses),
    created_at: time,
    expires_at: time.nullable(),
    last_used_at: time.nullable().meta({ description: 'To the minute' }),
    revoked_at: time.nullable(),
    rotated_from: tokenId.nullable(),
  })
  .meta({ id: 'Token' })
export type Token = z.infer<typeof token>

export const mintedToken = token
  .extend({
    token: z.string().nullable().meta({
      description:
        'The token itself, in the first answer alone: a repetition of the request gets null, and a new one by `tokens.rotate`',
    }),
  })
  .meta({ id: 'MintedToken' })
export type MintedToken = z.infer<typeof mintedToken>

/** Seconds that a token may live: a minute to ten years. */
export const expiresIn = z.int().min(60).max(315_360_000)

export const tokenBody = z.strictObject({
  app: appRef.meta({ description: 'The app that it is for, by id or name' }),
  scopes: z.array(z.string().max(4300)).max(200).optional().meta({
    description:
      "Its list, within the grant of the app; left out, it follows the grant; an empty list permits nothing. `svc:memory:read:app` and `svc:memory:rw:app` stand for that app's own documents",
  }),
  profile: z.string().min(1).max(128).optional(),
  label: z.string().min(1).max(128).optional(),
  expires_in: expiresIn.nullable().default(7_776_000).meta({ description: 'Seconds; 90 days unless given' }),
})

/** What a token stands for at this moment. */
export const tokenSelf = z
  .object({
    kind: z.enum(['owner', 'app', 'run', 'node', 'pub']),
    principal: z.string(),
    token_id: z.string().nullable(),
    scopes: z
      .array(z.string())
      .meta({ description: 'What it permits now: its own list, within the grant of its app; `*` is the owner’s' }),
    app_id: appId.nullable(),
    profile: z.string().nullable(),
    node_id: nodeId.nullable(),
    expires_at: time.nullable(),
  })
  .meta({ id: 'TokenSelf' })
export type TokenSelf = z.infer<typeof tokenSelf>
