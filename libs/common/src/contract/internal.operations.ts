import { z } from 'zod'
import { nodeId, nodeMakers, time } from './common.schema.js'
import { operation } from './define.js'
import { hostedJob } from './job.internal.js'
import { callUsage, readiness } from './model.schema.js'
import { nodeEvent } from './node.schema.js'
import { sandboxState } from './sandbox.operations.js'

/** A broker as its host knows it. The identity of a process is its pid and its start time. */
export const hostedBroker = z.object({
  node_id: nodeId,
  generation: z.int(),
  pid: z.int(),
  started_at: time,
  scopes: z
    .array(z.string())
    .default([])
    .meta({ description: 'Of those that it was launched with: its mounts, and whether it has a shell' }),
})
export type HostedBroker = z.infer<typeof hostedBroker>

export const brokerExit = z.object({
  node_id: nodeId,
  generation: z.int(),
  pid: z.int(),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  clean: z.boolean().meta({ description: 'Whether the broker said that it was done before it went' }),
  detail: z.string().max(4000).nullable().meta({ description: 'Last lines of its standard error' }),
})
export type BrokerExit = z.infer<typeof brokerExit>

/** Where a node stands on a machine. */
export const nodePlace = z.object({
  cwd: z.string(),
  host_id: z.string().nullable().meta({ description: 'The host of its process; null while it has none' }),
  git_dir: z
    .string()
    .nullable()
    .meta({ description: 'The repository that its worktree belongs to, which lies outside its cwd; null without one' }),
})
export type NodePlace = z.infer<typeof nodePlace>

/** Spoken between services on the bus; no route leads here. */
export const internalOperations = [
  operation({
    name: 'host.broker.launch',
    kind: 'internal',
    summary: 'Host this generation of a node; a repetition changes nothing',
    service: 'host',
    body: z.object({
      node_id: nodeId,
      generation: z.int(),
      token: z.string(),
      base_url: z.string(),
      cwd: z.string(),
      scopes: z.array(z.string()),
      git_dir: z
        .string()
        .nullable()
        .default(null)
        .meta({ description: 'The common git directory of the worktree that `cwd` is' }),
      makers: nodeMakers,
      consent: z
        .boolean()
        .default(false)
        .meta({ description: 'Whether the owner consented to running it without a sandbox' }),
      pool_key: z
        .string()
        .meta({ description: 'Only nodes of one principal and app may share a process, one after another' }),
    }),
    response: z.object({ state: z.enum(['launched', 'already_hosted']), pid: z.int() }),
    timeout: 15_000,
    errors: ['stale_generation', 'quota_exceeded', 'path_outside_scope', 'sandbox_required'],
  }),
  operation({
    name: 'host.broker.stop',
    kind: 'internal',
    summary: 'End every process of a node up to this generation; answers when they are gone',
    service: 'host',
    body: z.object({ node_id: nodeId, generation: z.int(), grace_ms: z.int().min(0).max(60_000).default(2000) }),
    response: z.object({ stopped: z.boolean() }),
    timeout: 70_000,
  }),
  operation({
    name: 'host.report',
    kind: 'internal',
    summary: 'What this host hosts now',
    service: 'host',
    response: z.object({
      host_id: z.string(),
      incarnation: z.string(),
      version: z.string(),
      live: z.int(),
      warm: z.int(),
      cap: z.int(),
      brokers: z.array(hostedBroker),
    }),
  }),
  operation({
    name: 'lifecycle.host.hello',
    kind: 'internal',
    summary: 'A host is there (sent at boot, and every 2 s as its heartbeat)',
    service: 'lifecycle',
    body: z.object({
      host_id: z.string(),
      incarnation: z
        .string()
        .meta({ description: 'New at each start of the host: what an older one hosted is gone and confirmed' }),
      version: z.string(),
      brokers: z.array(hostedBroker),
      sandbox: sandboxState.default({ level: 'none', detail: 'the host did not say' }),
      jobs: z.array(hostedJob).default([]),
      live: z.int(),
      warm: z.int(),
      cap: z.int(),
    }),
    response: z.object({
      accepted: z.boolean(),
      consent: z
        .boolean()
        .default(false)
        .meta({ description: 'Whether the owner consented to running programs of nodes without a sandbox' }),
    }),
    errors: ['version_mismatch'],
  }),
  operation({
    name: 'lifecycle.host.exited',
    kind: 'internal',
    summary: 'A broker process is gone, with its whole tree',
    service: 'lifecycle',
    body: z.object({ host_id: z.string(), exit: brokerExit }),
    response: z.object({ noted: z.boolean() }),
  }),
  operation({
    name: 'lifecycle.status',
    kind: 'internal',
    summary: 'The writer and what it counts',
    service: 'lifecycle',
    response: z.object({
      version: z.string(),
      epoch: z.int(),
      nodes: z.record(z.string(), z.int()),
      hosts: z.array(
        z.object({
          host_id: z.string(),
          version: z.string(),
          seen_at: time,
          live: z.int(),
          warm: z.int(),
          cap: z.int(),
          sandbox: sandboxState.optional(),
        }),
      ),
      limits: z.record(z.string(), z.number()),
    }),
  }),
  operation({
    name: 'scheduler.status',
    kind: 'internal',
    summary: 'The scheduler, and whether its timers are kept',
    service: 'scheduler',
    response: z.object({
      version: z.string(),
      fault: z
        .string()
        .nullable()
        .meta({ description: 'What is wrong with Redis; slots are found in the database then. Null: nothing' }),
      limits: z.record(z.string(), z.number()),
    }),
  }),
  operation({
    name: 'lifecycle.node.principal',
    kind: 'internal',
    summary: "Whom a node's token stands for, as of now",
    service: 'lifecycle',
    body: z.object({ node_id: nodeId }),
    response: z.object({
      node_id: nodeId,
      generation: z.int(),
      ended: z.boolean(),
      scopes: z.array(z.string()),
      root_id: nodeId,
      principal: z.string(),
      app_id: z.string().nullable(),
      profile: z.string().nullable(),
      place: nodePlace,
    }),
    errors: ['not_found'],
  }),
  operation({
    name: 'lifecycle.node.readEvents',
    kind: 'internal',
    summary: 'Events of a node, or of its whole tree, after a position',
    service: 'lifecycle',
    body: z.object({
      id: nodeId,
      tree: z.boolean().default(false),
      after: z.int().min(0),
      limit: z.int().min(1).max(500).default(200),
    }),
    response: z.object({
      events: z.array(nodeEvent.extend({ tree_seq: z.int() })),
      head: z.int(),
      settled: z.boolean().meta({ description: 'Whether no more events will come unless the node is given new work' }),
    }),
    errors: ['not_found', 'cursor_expired'],
  }),
  operation({
    name: 'lifecycle.node.inProgress',
    kind: 'internal',
    summary: 'Text of the messages in progress, for a watcher that joins late',
    service: 'lifecycle',
    body: z.object({ id: nodeId }),
    response: z.object({
      parts: z.array(
        z.object({
          generation: z.int(),
          message: z.int(),
          channel: z.string(),
          call_id: z.string().optional(),
          text: z.string(),
          truncated: z.boolean(),
        }),
      ),
    }),
    errors: ['not_found'],
  }),
  operation({
    name: 'lifecycle.usage.record',
    kind: 'internal',
    summary: 'A finished model call: its usage goes on the account of its node, once',
    service: 'lifecycle',
    body: z.object({
      source_event: z.string(),
      node_id: nodeId,
      model: z.string(),
      usage: callUsage,
      context_tokens: z
        .int()
        .min(0)
        .optional()
        .meta({ description: "Size of the node's conversation; absent for a call that is no step of it" }),
    }),
    response: z.object({ recorded: z.boolean() }),
    idempotency: 'natural',
  }),
  operation({
    name: 'models.ready',
    kind: 'internal',
    summary: 'Whether a model can serve a strength or an override, and what is missing',
    service: 'models',
    response: readiness,
  }),
] as const
