import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contract } from '#common/contract/index.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { LifecycleUnderTest, nodeContext, ownerContext, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
const asked: unknown[] = []
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start({ hosted: false })
  const operation = contract['host.broker.attach']
  lifecycle.host.more = {
    operations: [operation],
    handlers: {
      [operation.name]: async (_ctx: Context, input: unknown) => {
        asked.push(input)
        const { node_id } = input as { node_id: string }
        if (!lifecycle.host.brokers.has(node_id)) throw new SvcError('no_live_broker')
        return { path: `/run/v/${node_id.slice(-4)}` }
      },
    },
  }
  await lifecycle.host.join()
})
afterAll(() => lifecycle.stop())

const attach = (id: string, ctx?: Context) => lifecycle.call('nodes.attach', { id }, ctx)
const hosted = async () => {
  const made = await lifecycle.running({ lifecycle: 'resident' })
  await lifecycle.host.hello()
  return made
}

describe('attach', () => {
  it('answers the socket that the host of the node had its process open', async () => {
    const { node, broker } = await hosted()
    expect(await attach(node.id)).toMatchObject({
      path: `/run/v/${node.id.slice(-4)}`,
      host_id: lifecycle.host.hostId,
      generation: 1,
      protocol: 'svc-viewer/1',
    })
    expect(asked.at(-1)).toEqual({ node_id: node.id, generation: broker.generation })
  })

  it('is the owner’s alone', async () => {
    const { node } = await hosted()
    expect(await failure(attach(node.id, nodeContext(node.id)))).toMatchObject({ code: 'owner_required' })
  })

  it('says that no process hosts the node', async () => {
    const { node } = await hosted()
    await lifecycle.call('nodes.cancel', { id: node.id })
    lifecycle.host.brokers.delete(node.id)
    await lifecycle.host.hello()
    expect(await failure(attach(node.id))).toMatchObject({ code: 'no_live_broker', fields: { state: 'canceled' } })
  })
})

describe('who controls a node at its process', () => {
  it('speaks as the owner by the ticket, and it is recorded that it came by a viewer', async () => {
    const { node, broker } = await hosted()
    const { ticket } = await attach(node.id)
    const said = await broker.call('nodes.broker.viewer', {
      ticket,
      act: { type: 'message', body: 'hello', tier: 'urgent' },
    })
    expect(said).toMatchObject({ delivered: 'live' })
    const { mail } = await broker.claim()
    expect(mail.at(-1)).toMatchObject({ body: 'hello', tier: 'urgent', source: { kind: 'owner', id: null } })
    const event = (await lifecycle.recorded(node.id)).findLast(({ type }) => type === 'message.accepted')
    expect(event).toMatchObject({ actor: { kind: 'owner' }, correlation_id: expect.stringMatching(/^viewer-/) })
    expect(await broker.call('nodes.broker.viewer', { ticket, act: { type: 'control' } })).toEqual({})
  })

  // A key that a broker chose would have been answered by what the owner was told under it, or have used it up.
  it('has idempotency keys of its own, though it speaks as the owner', async () => {
    const { node, broker } = await hosted()
    const { ticket } = await attach(node.id)
    const owners = await lifecycle.message(node.id, 'hello', 'normal', ownerContext({ idempotencyKey: 'k' }))
    const act = { type: 'message' as const, body: 'hello', tier: 'normal' as const }
    const say = (): Promise<unknown> =>
      lifecycle.call('nodes.broker.viewer', { id: node.id, ticket, act }, { ...broker.ctx, idempotencyKey: 'k' })
    const said = await say()
    expect(said).toEqual({ message_id: expect.any(String), delivered: 'live' })
    expect(said).not.toEqual(owners)
    expect(await say()).toEqual(said)
  })

  it('interrupts the turn', async () => {
    const { node, broker, assignment } = await hosted()
    await broker.append(started(1, assignment.mail))
    const { ticket } = await attach(node.id)
    const act = { type: 'interrupt' }
    expect(await broker.call('nodes.broker.viewer', { ticket, act })).toEqual({ interrupted: true })
  })

  // The token of a broker is in the environment of what its node runs: it must never be enough to speak as the owner.
  it('is nobody without a ticket of this node and generation', async () => {
    const [{ node, broker }, other] = [await hosted(), await hosted()]
    const own = await attach(node.id)
    const [until, signed = ''] = own.ticket.split('.')
    const forged = [
      'x',
      (await attach(other.node.id)).ticket,
      `${Number(until) + 1}.${signed}`,
      `${until}.${signed.slice(1)}A`,
    ]
    for (const ticket of forged) {
      const refused = await failure(
        broker.call('nodes.broker.viewer', { ticket, act: { type: 'message', body: 'obey', tier: 'urgent' } }),
      )
      expect(refused).toMatchObject({ code: 'owner_required' })
    }
    await lifecycle.host.lose(node.id, 1)
    const { broker: next } = await lifecycle.bound(node.id, 2)
    const old = await failure(next.call('nodes.broker.viewer', { ticket: own.ticket, act: { type: 'control' } }))
    expect(old).toMatchObject({ code: 'owner_required' })
    const gone = await failure(broker.call('nodes.broker.viewer', { ticket: own.ticket, act: { type: 'control' } }))
    expect(gone).toMatchObject({ code: 'stale_generation' })
  })
})
