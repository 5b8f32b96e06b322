import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { contract, type InputOf } from '#common/contract/index.js'
import type { HandedEvent } from '#common/contract/object.internal.js'
import { newId } from '#common/kernel/ids.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { testNats } from '#common/testing/nats.js'
import { deliveryIdOf } from '../ids.js'
import { EventHands } from './event.hands.js'

const hand = contract['lifecycle.events.hand']
const broken = newId('node')

let [objects, lifecycle] = [] as unknown as [TestPeer, TestPeer]
beforeEach(async () => {
  const nats = testNats().url
  lifecycle = await joinBus(nats, 'lifecycle', {
    operations: [hand],
    handlers: {
      [hand.name]: async (_: unknown, input: unknown) => {
        const { deliveries } = input as InputOf<typeof hand>
        if (deliveries.some(({ node_id }) => node_id === broken)) throw new Error('nobody thought of this')
        return { outcomes: deliveries.map(({ id }) => ({ id, outcome: 'accepted' as const })) }
      },
    },
  })
  objects = await joinBus(nats, 'objects')
})
afterEach(async () => {
  await objects.close()
  await lifecycle.close()
})

const eventFor = (node_id: string): HandedEvent => ({
  id: deliveryIdOf(node_id, 1),
  node_id,
  tier: 'normal',
  source: { id: newId('obj'), name: 'sensor' },
  event_id: 'evt_1',
  event: 'changed',
  payload: null,
  published_by: { kind: 'owner', id: null },
  at: new Date(0).toISOString(),
  request_id: null,
  traceparent: null,
})

describe('an event that lifecycle breaks on', () => {
  it('holds up no node but its own', async () => {
    const hands = new EventHands(objects.bus)
    const all = [newId('node'), broken, newId('node')].map((id) => hands.hand([eventFor(id)]))
    const [first, second, third] = await Promise.allSettled(all)
    expect([first, third]).toEqual(Array(2).fill({ status: 'fulfilled', value: ['accepted'] }))
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'internal' } })
  })
})
