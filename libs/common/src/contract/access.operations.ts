import { z } from 'zod'
import { origin } from './app.schema.js'
import { time } from './common.schema.js'
import { operation } from './define.js'

/** `host:port`, with brackets around an IPv6 host. */
const listenAddress = z
  .string()
  .max(300)
  .regex(/^(\[[0-9a-f:]+\]|[A-Za-z0-9.-]+):(?!0+$)\d{1,5}$/i, 'must be host:port')
  .refine((text) => Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535, 'must have a port up to 65535')
const hostName = z
  .string()
  .max(253)
  .regex(/^(\[[0-9a-f:]+\]|[A-Za-z0-9.-]+)$/i, 'must be a host name or an address, without a port')

export const access = z
  .object({
    listen: z
      .array(
        z.object({
          address: z.string(),
          tls: z.boolean(),
          state: z.enum(['open', 'failed']),
          detail: z.string().nullable().meta({
            description: 'Why it failed; of an open one what its owner must know, as that nothing encrypts it',
          }),
        }),
      )
      .meta({ description: 'Where the owner’s API is served besides its loopback address and its socket' }),
    base_urls: z.array(z.string()).meta({ description: 'Addresses of the owner’s API, the nearest first' }),
    app_base_url: z.string(),
    hosts: z.array(z.string()).meta({ description: 'Host names that are answered, besides loopback and `listen`' }),
    origins: z
      .array(z.string())
      .meta({ description: 'Pages of these origins may call the owner’s API from a browser' }),
    version: z.int(),
    updated_at: time,
  })
  .meta({ id: 'Access' })
export type Access = z.infer<typeof access>

const owner = ['owner'] as const

export const accessOperations = [
  operation({
    name: 'access.retrieve',
    kind: 'untyped',
    summary: 'Where the daemon is reached from, and by which pages',
    service: 'gateway',
    method: 'GET',
    path: '/v1/access',
    listeners: owner,
    gate: 'owner',
    response: access,
  }),
  operation({
    name: 'access.update',
    kind: 'untyped',
    summary: 'Open or close addresses of the owner’s API, and name the hosts and origins that may use it',
    description: 'Kept over restarts, and taken up by every gateway within a second. What is left out stays.',
    service: 'gateway',
    method: 'PATCH',
    path: '/v1/access',
    listeners: owner,
    gate: 'owner',
    body: z.strictObject({
      listen: z.array(listenAddress).max(10).optional(),
      hosts: z.array(hostName).max(50).optional(),
      origins: z.array(origin).max(50).optional(),
    }),
    response: access,
    idempotency: 'natural',
    errors: ['address_unavailable'],
  }),
] as const
