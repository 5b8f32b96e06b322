import { z } from 'zod'
import { appRef } from './app.schema.js'
import { pageOf, pageQuery } from './common.schema.js'
import { operation } from './define.js'
import { mintedToken, token, tokenBody, tokenId, tokenSelf, tokenStatuses } from './token.schema.js'

const byId = z.strictObject({ id: tokenId })
const owner = ['owner'] as const

export const tokenOperations = [
  operation({
    name: 'tokens.create',
    kind: 'route',
    summary: 'Mint a token for an app',
    description:
      'The token stands in the first answer alone: a repetition with the same idempotency key answers the record with `token` null, and whoever lost it rotates the record. It expires after 90 days unless the body says otherwise. Its list must lie within the grant of the app, which is its ceiling at every later moment too.',
    service: 'gateway',
    method: 'POST',
    path: '/v1/tokens',
    listeners: owner,
    gate: 'owner',
    body: tokenBody,
    response: mintedToken,
    status: 201,
    idempotency: 'key',
    errors: ['not_found', 'scope_exceeds_ceiling', 'grant_revoked'],
  }),
  operation({
    name: 'tokens.list',
    kind: 'route',
    summary: 'Tokens, the newest first',
    service: 'gateway',
    method: 'GET',
    path: '/v1/tokens',
    listeners: owner,
    gate: 'owner',
    query: z.strictObject({ ...pageQuery, app: appRef.optional(), status: z.enum(tokenStatuses).optional() }),
    response: pageOf(token),
    errors: ['not_found'],
  }),
  operation({
    name: 'tokens.retrieve',
    kind: 'route',
    summary: 'Read what is known of a token',
    service: 'gateway',
    method: 'GET',
    path: '/v1/tokens/{id}',
    listeners: owner,
    gate: 'owner',
    params: byId,
    response: token,
    errors: ['not_found'],
  }),
  operation({
    name: 'tokens.rotate',
    kind: 'route',
    summary: 'Replace a token by a new one that may do the same',
    description:
      "The old one goes on for `overlap` seconds; a token is replaced once, its successor after it. The new one lives as long as the old one was to. Nothing that runs is stopped: authority is the grant's, a token is a key to it. The owner's own token can be rotated too; its file holds the new one before the old one ends.",
    service: 'gateway',
    method: 'POST',
    path: '/v1/tokens/{id}/rotate',
    listeners: owner,
    gate: 'owner',
    params: byId,
    body: z.strictObject({
      overlap: z.int().min(0).max(604_800).default(0).meta({ description: 'Seconds, a week at most' }),
    }),
    response: mintedToken,
    status: 201,
    idempotency: 'key',
    errors: ['not_found', 'token_spent', 'file_access_denied'],
  }),
  operation({
    name: 'tokens.revoke',
    kind: 'route',
    summary: 'End a token; a repetition changes nothing',
    description:
      "Its next call is refused and its open streams end within a second on every gateway. The owner's own is rotated, not revoked.",
    service: 'gateway',
    method: 'DELETE',
    path: '/v1/tokens/{id}',
    listeners: owner,
    gate: 'owner',
    params: byId,
    status: 204,
    idempotency: 'natural',
    errors: ['not_found', 'owner_token_needed'],
  }),
  operation({
    name: 'tokens.self',
    kind: 'route',
    summary: 'What the token of this request stands for',
    service: 'gateway',
    method: 'GET',
    path: '/v1/token',
    listeners: ['owner', 'app'],
    gate: 'bearer',
    response: tokenSelf,
  }),
] as const
