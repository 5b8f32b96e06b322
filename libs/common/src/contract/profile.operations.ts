import { z } from 'zod'
import { operation } from './define.js'
import { profile, profileBody, profileName } from './profile.schema.js'

const byName = z.strictObject({ name: profileName })
const owner = ['owner'] as const

export const profileOperations = [
  operation({
    name: 'profiles.ensure',
    kind: 'route',
    summary: 'Make a profile what the body says',
    description:
      'A body that says what the profile says already changes nothing and answers the same version. Nodes that were made with it before stay as they are.',
    service: 'lifecycle',
    method: 'PUT',
    path: '/v1/profiles/{name}',
    listeners: owner,
    gate: 'owner',
    params: byName,
    body: profileBody,
    response: profile,
    idempotency: 'natural',
    errors: ['precondition_failed'],
  }),
  operation({
    name: 'profiles.retrieve',
    kind: 'route',
    summary: 'Read a profile',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/profiles/{name}',
    listeners: owner,
    gate: 'own',
    params: byName,
    response: profile,
    errors: ['not_found'],
  }),
] as const
