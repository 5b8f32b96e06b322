import { z } from 'zod'
import { time } from './common.schema.js'
import { operation } from './define.js'
import { sandboxState } from './sandbox.operations.js'

const part = z.object({
  name: z.string(),
  state: z.enum(['ready', 'degraded', 'absent']),
  detail: z.string().nullable(),
  version: z.string().nullable(),
})

export const systemStatus = z
  .object({
    version: z.string(),
    ready: z.boolean().meta({ description: 'Whether every part that nodes need is there' }),
    started_at: time,
    base_url: z.string(),
    parts: z.array(part),
    nodes: z
      .record(z.string(), z.int())
      .meta({ description: 'Number of nodes by status, of those that the caller may see' }),
    sandbox: z
      .array(sandboxState.extend({ host_id: z.string() }))
      .meta({ description: 'How each host holds the programs of nodes' }),
    brokers: z.object({ live: z.int(), warm: z.int(), cap: z.int() }).nullable(),
    limits: z.record(z.string(), z.number()),
  })
  .meta({ id: 'SystemStatus' })

export const systemOperations = [
  operation({
    name: 'system.status',
    kind: 'route',
    summary: 'State of the daemon and of each of its parts',
    service: 'gateway',
    method: 'GET',
    path: '/v1/status',
    listeners: ['owner'],
    gate: 'own',
    response: systemStatus,
  }),
  operation({
    name: 'system.health',
    kind: 'route',
    summary: 'Liveness of the daemon',
    service: 'gateway',
    method: 'GET',
    path: '/healthz',
    listeners: ['owner', 'app'],
    gate: 'open',
    response: z.object({ status: z.literal('ok'), version: z.string() }),
  }),
  operation({
    name: 'health.get',
    kind: 'route',
    summary: 'Liveness of the application listener',
    service: 'gateway',
    method: 'GET',
    path: '/v1/health',
    listeners: ['app'],
    gate: 'open',
    response: z.object({ status: z.literal('ok'), version: z.string() }),
  }),
  operation({
    name: 'system.openapi',
    kind: 'untyped',
    summary: 'The routes of this listener as OpenAPI 3.1',
    service: 'gateway',
    method: 'GET',
    path: '/v1/openapi.json',
    listeners: ['owner', 'app'],
    gate: 'open',
    response: z.record(z.string(), z.unknown()),
  }),
  operation({
    name: 'auth.status',
    kind: 'composed',
    summary: 'Status, then model readiness once the daemon is ready',
    service: 'gateway',
    composedOf: ['system.status', 'models.readiness'],
  }),
  operation({
    name: 'canvas.dashboard',
    kind: 'composed',
    summary: 'Nodes and status in one object',
    service: 'gateway',
    composedOf: ['nodes.list', 'system.status'],
  }),
] as const
