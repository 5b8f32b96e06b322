import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { waitFor } from '#common/testing/wait-for.js'
import {
  LifecycleUnderTest,
  nodeContext,
  ownerContext,
  said,
  started,
} from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

describe('launch', () => {
  it('reaches the host once, with a token of this node and generation alone', async () => {
    const { node } = await lifecycle.running()
    await waitFor(async () => (await lifecycle.retrieve(node.id)).broker)
    await lifecycle.host.hello()
    const launches = lifecycle.host.launchesOf(node.id)
    expect(launches).toHaveLength(1)
    expect(launches[0]).toMatchObject({
      generation: 1,
      cwd: '/tmp',
      pool_key: 'owner/',
      base_url: 'http://127.0.0.1:7420',
    })
    expect(lifecycle.tokenOf(launches[0]!)).toEqual({ nodeId: node.id, generation: 1 })
  })

  it('shares processes among the nodes of one principal only, those that a node made among them', async () => {
    const parent = await lifecycle.create()
    const child = await lifecycle.create({ root: true }, nodeContext(parent.id))
    await lifecycle.broker(child.id)
    expect(lifecycle.host.launchesOf(child.id)[0]?.pool_key).toBe('owner/')
  })

  it('is repeated when the answer was lost, for the same generation', async () => {
    lifecycle.host.onLaunch = () => {
      lifecycle.host.onLaunch = () => undefined
      throw new Error('lost')
    }
    const node = await lifecycle.create()
    await lifecycle.bound(node.id)
    expect(lifecycle.host.launchesOf(node.id).map(({ generation }) => generation)).toEqual([1, 1])
  })
})

describe('bind', () => {
  it('tells the broker all about its node, and shows the process at the node', async () => {
    const parent = await lifecycle.create({ name: 'boss' })
    const { node, assignment } = await lifecycle.running({ parent_id: parent.id, kind: 'explore', prompt: 'seek' })
    expect(assignment).toMatchObject({
      node_id: node.id,
      generation: 1,
      engagement: 1,
      kind: 'explore',
      lifecycle: 'terminal',
      engine: 'exec',
      cwd: '/tmp',
      parent: { id: parent.id, name: 'boss' },
      reported: false,
      next_ord: 1,
      journal: [],
      mail: [{ body: 'seek' }],
    })
    const hosted = lifecycle.host.brokers.get(node.id)
    expect((await lifecycle.retrieve(node.id)).broker).toMatchObject({
      host_id: lifecycle.host.hostId,
      pid: hosted?.pid,
      started_at: hosted?.started_at,
    })
  })

  it('repeated by the same process changes nothing', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    expect(await broker.bind()).toEqual(assignment)
    expect(await lifecycle.typesOf(node.id)).toEqual(['node.created', 'node.bound'])
  })

  it('refuses another process of the same generation, also one that took over the number of the first', async () => {
    const { broker } = await lifecycle.running()
    expect(await failure(broker.bind({ pid: 4 }))).toMatchObject({ code: 'stale_generation' })
    const later = await failure(broker.bind({ started_at: '2030-01-01T00:00:00.000Z' }))
    expect(later).toMatchObject({ code: 'stale_generation' })
  })

  it('refuses an older generation, another node, a person, and a version that does not fit', async () => {
    const { node, broker } = await lifecycle.running()
    const other = await lifecycle.create()
    const input = { id: node.id, host_id: 'h', pid: 1, started_at: '2026-01-01T00:00:00.000Z', version: '0.1.0' }
    expect(await failure(lifecycle.call('nodes.broker.bind', input, nodeContext(other.id)))).toMatchObject({
      code: 'node_token_required',
    })
    expect(await failure(lifecycle.call('nodes.broker.bind', input, ownerContext()))).toMatchObject({
      code: 'node_token_required',
    })
    expect(await failure(broker.bind({ version: '99.0.0' }))).toMatchObject({ code: 'version_mismatch' })
    await lifecycle.host.lose(node.id, 1)
    await lifecycle.bound(node.id, 2)
    expect(await failure(broker.bind())).toMatchObject({ code: 'stale_generation', fields: { generation: 2 } })
  })

  it('refuses when the node has ended meanwhile', async () => {
    const node = await lifecycle.create()
    const broker = await lifecycle.broker(node.id)
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect(await failure(broker.bind())).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'canceled', event: 'bind' },
    })
  })

  it('gives a successor the journal so far and the place where it goes on', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail), said(1, 1))
    await lifecycle.host.lose(node.id, 1)
    const next = await lifecycle.bound(node.id, 2)
    expect(next.assignment).toMatchObject({ generation: 2, next_ord: 3, mail: [] })
    expect(next.assignment.journal.map(({ ord, generation, entry }) => [ord, generation, entry.type])).toEqual([
      [1, 1, 'turn_started'],
      [2, 1, 'message'],
    ])
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ generation: 2, cycles: 2, engagement: 1 })
  })
})
