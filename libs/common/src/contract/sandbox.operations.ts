import { z } from 'zod'
import { time } from './common.schema.js'
import { operation } from './define.js'

export const sandboxLevels = ['bubblewrap', 'account', 'none'] as const

/** How a host holds the programs of nodes, and why in this way. */
export const sandboxState = z.object({ level: z.enum(sandboxLevels), detail: z.string().max(1000) })
export type SandboxState = z.infer<typeof sandboxState>

/** What the owner says to let nodes run programs where no sandbox can be had. */
export const consentSentence = 'Programs of nodes may do on this machine whatever my own account may do.'

export const sandboxStatus = z
  .object({
    hosts: z.array(sandboxState.extend({ host_id: z.string() })),
    sentence: z.string().meta({ description: 'What the owner says to consent' }),
    consent: z
      .object({ words: z.string(), by: z.string(), at: time })
      .nullable()
      .meta({ description: 'The consent that stands; needed on hosts of level `none` only' }),
  })
  .meta({ id: 'SandboxStatus' })

export const sandboxOperations = [
  operation({
    name: 'sandbox.get',
    kind: 'untyped',
    summary: 'How each host holds the programs of nodes, and whether the owner consented to running them without',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/sandbox',
    listeners: ['owner'],
    gate: 'owner',
    response: sandboxStatus,
  }),
  operation({
    name: 'sandbox.consent',
    kind: 'untyped',
    summary: 'Consent, in words, to running programs of nodes on hosts without a sandbox',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/sandbox/consent',
    listeners: ['owner'],
    gate: 'owner',
    body: z.strictObject({
      words: z.string().min(1).max(500).meta({ description: '`sentence` of GET /v1/sandbox, word for word' }),
    }),
    response: sandboxStatus,
    idempotency: 'natural',
    repeats: 'The consent is a state: it is given already.',
  }),
  operation({
    name: 'sandbox.revoke',
    kind: 'untyped',
    summary: 'Take the consent back; what runs without a sandbox already goes on until its process ends',
    service: 'lifecycle',
    method: 'DELETE',
    path: '/v1/sandbox/consent',
    listeners: ['owner'],
    gate: 'owner',
    response: sandboxStatus,
    idempotency: 'natural',
  }),
] as const
