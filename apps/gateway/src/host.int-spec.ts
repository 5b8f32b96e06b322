import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contract } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { testDatabase } from '#common/testing/database.js'
import { NatsProcess } from '#common/testing/nats-process.js'
import { waitFor } from '#common/testing/wait-for.js'
import { TestGateway } from './testing/gateway.fixture.js'
import { WireLifecycle } from './testing/wire-lifecycle.fixture.js'

let nats: NatsProcess
let gateway: TestGateway
let wire: WireLifecycle
const hosts: TestPeer[] = []
/** What the hosts were asked, and what each answers. */
const asked: { host: string; ctx: Context }[] = []
let work: (ctx: Context) => Promise<unknown> = async () => result

const result = {
  exit_code: 0,
  signal: null,
  stdout: '',
  stderr: '',
  truncated: false,
  duration_ms: 1,
  timed_out: false,
}

beforeAll(async () => {
  nats = await NatsProcess.start()
  wire = await WireLifecycle.start(nats.url)
  for (const hostId of ['local', 'far']) {
    const run = (ctx: Context): Promise<unknown> => {
      asked.push({ host: hostId, ctx })
      return work(ctx)
    }
    hosts.push(
      await joinBus(nats.url, 'host', {
        hostId,
        operations: [contract['bash.run']],
        handlers: { 'bash.run': run },
      }),
    )
  }
  gateway = await TestGateway.start(nats.url, await testDatabase())
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all(hosts.map((host) => host.close()))
  await wire?.stop()
  await nats?.stop()
})

const bash = (token?: string, patience = 10_000) =>
  gateway.ask({
    method: 'POST',
    path: '/v1/bash',
    body: { cwd: '/tmp', command: 'true' },
    headers: { 'svc-timeout-ms': String(patience) },
    ...(token !== undefined && { token }),
  })

describe('an operation of a host', () => {
  it('goes to the host of this machine for the owner', async () => {
    expect((await bash()).status).toBe(200)
    expect(asked.at(-1)).toMatchObject({ host: 'local', ctx: { actor: { kind: 'owner' } } })
  })

  it('goes to the host where the node stands, which is told where that is', async () => {
    const id = wire.create()
    wire.nodes.get(id)!.place = { cwd: '/srv', host_id: 'far' }
    expect((await bash(gateway.nodeToken(id))).status).toBe(200)
    expect(asked.at(-1)).toMatchObject({
      host: 'far',
      ctx: { actor: { kind: 'node', nodeId: id, place: { cwd: '/srv', host_id: 'far', git_dir: null } } },
    })
  })

  // What was remembered of a node named the directory that it had before its worktree.
  it('carries the place that the node has now, not one that is remembered', async () => {
    const id = wire.create()
    const kept = wire.nodes.get(id)!
    kept.place = { cwd: '/before' }
    await gateway.ask({ path: `/v1/nodes/${id}`, token: gateway.nodeToken(id) })
    kept.place = { cwd: '/after', host_id: 'far' }
    await bash(gateway.nodeToken(id))
    expect(asked.at(-1)).toMatchObject({ host: 'far', ctx: { actor: { place: { cwd: '/after' } } } })
    kept.ended = true
    expect((await bash(gateway.nodeToken(id))).body.code).toBe('token_revoked')
  })

  it('says which host is absent, and what to do', async () => {
    const id = wire.create()
    wire.nodes.get(id)!.place = { host_id: 'gone' }
    const { status, body } = await bash(gateway.nodeToken(id), 400)
    expect([status, body.code, body.host_id, body.retryable]).toEqual([503, 'service_unavailable', 'gone', true])
    expect(body.detail).toMatch(/host gone .*svc sys status/)
  })

  // The daemon is ready before the host beside it listens.
  it('waits for a host that is about to come', async () => {
    const id = wire.create()
    wire.nodes.get(id)!.place = { host_id: 'late' }
    const call = bash(gateway.nodeToken(id))
    await waitFor(() =>
      wire.asks('lifecycle.node.principal').some(({ input }) => (input as { node_id: string }).node_id === id),
    )
    hosts.push(
      await joinBus(nats.url, 'host', {
        hostId: 'late',
        operations: [contract['bash.run']],
        handlers: { 'bash.run': async () => result },
      }),
    )
    expect((await call).status).toBe(200)
  })

  it('needs a scope', async () => {
    const id = wire.create(undefined, ['svc:llm'])
    const { body } = await bash(gateway.nodeToken(id))
    expect([body.code, body.scope]).toEqual(['scope_missing', 'svc:act'])
  })

  it('ends when the client disconnects', async () => {
    const signals: AbortSignal[] = []
    work = ({ signal }) => {
      signals.push(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const call = request(new URL('/v1/bash', gateway.base), {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    })
    call.on('error', () => undefined)
    call.end(JSON.stringify({ cwd: '/tmp', command: 'true' }))
    await waitFor(() => signals.length === 1)
    call.destroy()
    await waitFor(() => signals[0]?.aborted === true)
    expect(signals[0]?.reason).toMatchObject({ code: 'client_closed' })
    work = async () => result
  })

  it('repeats a key to the host, and says that the answer is an earlier one', async () => {
    work = async (ctx) => {
      if (ctx.notes) ctx.notes.replayed = true
      return result
    }
    const { headers } = await gateway.ask({
      method: 'POST',
      path: '/v1/bash',
      body: { cwd: '/tmp', command: 'true' },
      headers: { 'idempotency-key': 'k' },
    })
    expect(headers['idempotency-replayed']).toBe('true')
    expect(asked.at(-1)?.ctx.idempotencyKey).toBe('k')
    work = async () => result
  })
})
