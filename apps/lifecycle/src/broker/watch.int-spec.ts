import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { BrokerSignal, Delta } from '#common/contract/index.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { subjects } from '#common/kernel/subjects.js'
import { take, waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, type PlayedBroker, said, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

/** Signals as they come, from a connection that stays open. */
const listening = (broker: PlayedBroker): { heard: BrokerSignal[]; over: Promise<unknown>; leave: () => void } => {
  const left = new AbortController()
  const heard: BrokerSignal[] = []
  const follow = async (): Promise<void> => {
    for await (const signal of broker.signals(left.signal)) heard.push(signal)
  }
  return { heard, over: follow().catch((error: unknown) => error), leave: () => left.abort() }
}

describe('signals', () => {
  it('say on connecting what waits, then what comes', async () => {
    const { node, broker } = await lifecycle.running()
    const { heard, leave } = listening(broker)
    await waitFor(() => heard.length === 2)
    await lifecycle.message(node.id, 'x', 'deferred')
    await lifecycle.message(node.id, 'x', 'urgent')
    await lifecycle.message(node.id, 'x', 'critical')
    await waitFor(() => heard.length >= 4)
    expect(heard).toEqual([
      expect.objectContaining({ type: 'changed', kind: 'general', lifecycle: 'resident' }),
      { type: 'mail', urgent: false, critical: false },
      { type: 'mail', urgent: true, critical: false },
      { type: 'mail', urgent: true, critical: true },
    ])
    leave()
  })

  it('end a broker whose node is canceled, at once and when it connects afterwards', async () => {
    const { node, broker } = await lifecycle.running()
    const { heard, leave } = listening(broker)
    await waitFor(() => heard.length === 2)
    await lifecycle.call('nodes.cancel', { id: node.id })
    await waitFor(() => heard.some(({ type }) => type === 'stop'))
    leave()
    expect(await take(broker.signals(), 1)).toEqual([{ type: 'stop', reason: 'canceled' }])
  })

  it('are refused to an older generation', async () => {
    const { node, broker } = await lifecycle.running()
    await lifecycle.host.lose(node.id, 1)
    await lifecycle.bound(node.id, 2)
    expect(await failure(take(broker.signals(), 1))).toMatchObject({ code: 'stale_generation' })
  })
})

const text = (offset: number, chunk: string, more: Partial<Delta> = {}): Delta => ({
  generation: 1,
  message: 1,
  channel: 'text',
  offset,
  text: chunk,
  ...more,
})
const send = (broker: PlayedBroker, ...deltas: Delta[]) => broker.call('nodes.broker.deltas', { deltas })
const shown = async (id: string): Promise<string[]> =>
  (await lifecycle.call('lifecycle.node.inProgress', { id })).parts.map((part) => part.text)

describe('deltas', () => {
  it('reach those who watch, and stay readable until their message is recorded', async () => {
    const { node, broker } = await lifecycle.running()
    const heard: unknown[] = []
    const off = lifecycle.gateway.bus.subscribe(subjects.nodeLive(node.id), ({ payload }) => void heard.push(payload))
    await lifecycle.gateway.bus.settled()
    await broker.append(started(1))
    expect(await send(broker, text(0, 'Hel'), text(3, 'lo'))).toEqual({ resync: false })
    await waitFor(() => heard.length > 0)
    expect(heard).toEqual([{ node_id: node.id, root_id: node.id, deltas: [text(0, 'Hel'), text(3, 'lo')] }])
    expect(await shown(node.id)).toEqual(['Hello'])
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ streaming: true })
    await broker.append(said(1, 1, 'Hello'))
    expect(await shown(node.id)).toEqual([])
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ streaming: false })
    off()
  })

  it('ask for the text anew when its beginning is not known here', async () => {
    const { broker } = await lifecycle.running()
    expect(await send(broker, text(7, 'end'))).toEqual({ resync: true })
    expect(await send(broker, text(0, 'the whole'))).toEqual({ resync: false })
  })

  // What a replaced process streamed once went on being shown, and was kept for ever.
  it('of a process that was replaced, or whose node ended, are refused and forgotten', async () => {
    const { node, broker } = await lifecycle.running()
    await send(broker, text(0, 'old'))
    await lifecycle.host.lose(node.id, 1)
    const { broker: next } = await lifecycle.bound(node.id, 2)
    expect(await failure(send(broker, text(3, 'er')))).toMatchObject({ code: 'stale_generation' })
    expect(await shown(node.id)).toEqual([])
    await send(next, text(0, 'new', { generation: 2 }))
    expect(await shown(node.id)).toEqual(['new'])
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect(await failure(send(next, text(3, 'er', { generation: 2 })))).toMatchObject({ code: 'stale_generation' })
    expect(await shown(node.id)).toEqual([])
  })
})
