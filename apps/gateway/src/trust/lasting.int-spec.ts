import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { contract } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { type Answer, TestGateway } from '../testing/gateway.fixture.js'
import { WireLifecycle } from '../testing/wire-lifecycle.fixture.js'

const scopes = ['svc:llm', 'svc:act', 'svc:files:rw:user:/srv']
let gateway: TestGateway
let wire: WireLifecycle
let host: TestPeer
/** Commands that run until somebody ends them. */
const running: AbortSignal[] = []

beforeAll(async () => {
  const { url } = testNats()
  wire = await WireLifecycle.start(url)
  const run = ({ signal }: Context): Promise<never> =>
    new Promise((_, reject) => {
      running.push(signal)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  host = await joinBus(url, 'host', {
    hostId: 'local',
    operations: [contract['bash.run']],
    handlers: { 'bash.run': run },
  })
  gateway = await TestGateway.start(url, await testDatabase())
})

afterAll(async () => {
  await gateway?.stop()
  await host?.close()
  await wire?.stop()
})

beforeEach(() => {
  running.length = 0
})

describe('a command that runs', () => {
  let id: string
  let command: Promise<Answer>

  beforeEach(async () => {
    id = wire.create(undefined, scopes)
    const body = { cwd: '/tmp', command: 'sleep 600' }
    command = gateway.ask({ method: 'POST', path: '/v1/bash', body, token: gateway.nodeToken(id) })
    await waitFor(() => running.length === 1)
  })

  /** What its node is now, as it is told to all. */
  const become = (change: object): void => {
    Object.assign(wire.nodes.get(id) as object, change)
    wire.record(id, 'node.renamed')
  }

  const answered = async () => {
    const { body } = await command
    await waitFor(() => running[0]?.aborted === true)
    return [body.code, body.scope]
  }

  it('ends with its node', async () => {
    become({ ended: true })
    expect(await answered()).toEqual(['token_revoked', undefined])
  })

  it('ends when its node may run none any more', async () => {
    become({ scopes: ['svc:llm'] })
    expect(await answered()).toEqual(['scope_missing', 'svc:act'])
  })

  it('ends when a directory that is mounted for it is taken from its node', async () => {
    become({ scopes: ['svc:llm', 'svc:act', 'svc:files:read:user:/srv'] })
    expect(await answered()).toEqual(['scope_missing', 'svc:files:rw:user:/srv'])
  })

  it('goes on when its node lost what it has no use for', async () => {
    const looks = () => wire.asks('lifecycle.node.principal').filter(({ input }) => isOf(input, id)).length
    const before = looks()
    become({ scopes: ['svc:act', 'svc:files:rw:user:/srv'] })
    await waitFor(() => looks() > before)
    become({})
    await waitFor(() => looks() > before + 1)
    expect(running[0]?.aborted).toBe(false)
    become({ ended: true })
    await answered()
  })
})

describe('a body that takes its time', () => {
  it('is that of a token as it is when it has come', async () => {
    const id = wire.create(undefined, scopes)
    const body = JSON.stringify({ cwd: '/tmp', command: 'id' })
    const { hostname, port } = new URL(gateway.base)
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    const head = ['POST /v1/bash HTTP/1.1', `Host: ${hostname}`, `Authorization: Bearer ${gateway.nodeToken(id)}`]
    const type = ['Content-Type: application/json', `Content-Length: ${body.length}`, '', body.slice(0, 5)]
    socket.write([...head, ...type].join('\r\n'))
    await waitFor(() => wire.asks('lifecycle.node.principal').some(({ input }) => isOf(input, id)))
    Object.assign(wire.nodes.get(id) as object, { scopes: ['svc:llm'] })
    wire.record(id, 'node.renamed')
    const begun = performance.now()
    await waitFor(() => performance.now() - begun > 600)
    socket.write(body.slice(5))
    await waitFor(() => text.includes('"code"') || running.length > 0)
    socket.destroy()
    expect(running).toEqual([])
    expect(text).toMatch(/^HTTP\/1.1 403 .*"code":"scope_missing"/s)
  })
})

const isOf = (input: unknown, id: string): boolean => (input as { node_id: string }).node_id === id
