import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { nodeLimits } from '#common/contract/node.schema.js'
import type { HandedEvent } from '#common/contract/object.internal.js'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, ownerContext, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const objectId = newId('obj')
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const delivery = (node_id: string, more: Partial<HandedEvent> = {}): HandedEvent => ({
  id: newId('dlv'),
  node_id,
  tier: 'normal',
  source: { id: objectId, name: 'build-server' },
  event_id: newId('evt'),
  event: 'build.failed',
  payload: { branch: 'main' },
  published_by: { kind: 'owner', id: null },
  at: '2026-01-01T00:00:00.000Z',
  request_id: 'req_of_the_publication',
  traceparent,
  ...more,
})

const hand = async (...deliveries: HandedEvent[]) => {
  const { outcomes } = await lifecycle.call('lifecycle.events.hand', { deliveries })
  return outcomes.map(({ outcome }) => outcome)
}
const events = async (nodeId: string) =>
  (await lifecycle.recorded(nodeId)).filter(({ type, data }) => type === 'message.accepted' && data.kind === 'event')
const bodies = async (nodeId: string) =>
  lifecycle.database.query<{ body: string }>(
    `SELECT body FROM canvas.mail WHERE node_id = '${nodeId}' AND kind = 'event' ORDER BY seq`,
  )
const write = async (sql: string) => {
  const { epoch } = await lifecycle.call('lifecycle.status', {})
  return lifecycle.database.query(`SET svc.epoch = '${epoch}'; ${sql}`)
}

/** A resident that rests after its first turn. */
const resting = async () => {
  const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'resident' })
  await broker.turn(1, assignment.mail)
  return lifecycle.until(node.id, 'idle')
}

describe('an event that is handed to a node', () => {
  it('wakes it, and says which object published what, when and for whom', async () => {
    const { id } = await resting()
    const event = delivery(id)
    expect(await hand(event)).toEqual(['accepted'])

    const { assignment } = await lifecycle.bound(id, 2)
    expect(assignment.mail).toMatchObject([
      {
        kind: 'event',
        tier: 'normal',
        traceparent,
        source: {
          kind: 'object',
          id: objectId,
          name: 'build-server',
          event: { id: event.event_id, name: 'build.failed', trace_id: '0af7651916cd43dd8448eb211c80319c' },
        },
      },
    ])
    expect(assignment.mail[0]?.body).toBe(
      `build.failed of the object build-server (${objectId}), published at 2026-01-01T00:00:00.000Z by the owner.\n\n{\n  "branch": "main"\n}`,
    )
  })

  it('is on record as what the request led to that published it, with the launch that it caused', async () => {
    const { id } = await resting()
    await hand(delivery(id, { request_id: 'req_one' }), delivery(id, { request_id: 'req_two' }))
    const caused = (await lifecycle.recorded(id)).filter(({ correlation_id }) => correlation_id?.startsWith('req_'))
    expect(caused.map(({ type, correlation_id }) => [type, correlation_id])).toEqual([
      ['message.accepted', 'req_one'],
      ['node.revived', 'req_one'],
      ['message.accepted', 'req_two'],
    ])
  })

  it('becomes one mail, however often and from however many sides it is handed over', async () => {
    const { node } = await lifecycle.running()
    const [one, two] = [delivery(node.id), delivery(node.id)]
    const answers = await Promise.all([hand(one, two), hand(one, two), hand(one), hand(one, one)])
    expect(answers.flat().every((outcome) => outcome === 'accepted')).toBe(true)
    expect(await hand(two)).toEqual(['accepted'])
    expect(await events(node.id)).toHaveLength(2)
  })

  it('becomes no second mail by another process that leads, after the answer to the first was lost', async () => {
    const { node } = await lifecycle.running()
    const event = delivery(node.id)
    await hand(event)
    await lifecycle.stopService()
    await lifecycle.another()
    expect(await hand(event)).toEqual(['accepted'])
    expect(await events(node.id)).toHaveLength(1)
  })

  it('keeps the order of its node among those of many', async () => {
    const [one, two] = [(await lifecycle.running()).node.id, (await lifecycle.running()).node.id]
    const deliveries = Array.from({ length: 200 }, (_, at) => delivery(at % 2 ? one : two, { payload: at }))
    expect(new Set(await hand(...deliveries))).toEqual(new Set(['accepted']))
    for (const [node, rest] of [
      [one, 1],
      [two, 0],
    ] as const) {
      const numbers = (await bodies(node)).map(({ body }) => Number(body.split('\n').at(-1)))
      expect(numbers).toEqual(Array.from({ length: 100 }, (_, at) => at * 2 + rest))
    }
  })

  it('shows the beginning of a long payload, and the command that shows the whole', async () => {
    const { node } = await lifecycle.running()
    const event = delivery(node.id, { payload: 'ü'.repeat(20_000) })
    await hand(event)
    const [mail] = await bodies(node.id)
    expect(Buffer.byteLength(mail!.body)).toBeLessThan(17 * 1024)
    expect(mail?.body).not.toContain('�')
    const tail = `\`svc custom-object events ${objectId} --id ${event.event_id}\` shows the whole …]`
    expect(mail?.body.endsWith(tail)).toBe(true)
  })

  it('of another node names that one', async () => {
    const { node } = await lifecycle.running()
    const { node: worker } = await lifecycle.running({ name: 'worker' })
    const source = { id: worker.id, name: null }
    await hand(delivery(node.id, { source, event: 'report.pushed', published_by: { kind: 'node', id: worker.id } }))
    const [mail] = await bodies(node.id)
    expect(mail?.body).toContain(`report.pushed of the node worker (${worker.id}), at 2026-01-01T00:00:00.000Z.`)
    expect(await events(node.id)).toMatchObject([{ data: { source: { kind: 'node', id: worker.id, name: 'worker' } } }])
  })

  it('that is deferred lies in the box of a node at rest until something else wakes it', async () => {
    const { id } = await resting()
    expect(await hand(delivery(id, { tier: 'deferred' }))).toEqual(['accepted'])
    expect(await lifecycle.retrieve(id)).toMatchObject({ status: 'idle' })
  })

  it('tells a running broker at once', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    const signals = broker.signals()[Symbol.asyncIterator]()
    await signals.next()
    await hand(delivery(node.id, { tier: 'urgent' }))
    const told = await waitFor(async () => {
      const { value } = await signals.next()
      return value?.type === 'mail' && value
    })
    expect(told).toMatchObject({ type: 'mail', urgent: true })
    await signals.return?.()
  })
})

describe('a root that gave its place to another', () => {
  it('has what it watched told to the one that follows, once, whoever was handed it first', async () => {
    const { node } = await lifecycle.running({ lifecycle: 'resident' })
    const before = delivery(node.id)
    await hand(before)
    const { node: second } = await lifecycle.call('nodes.recycle', { id: node.id })
    const { node: third } = await lifecycle.call('nodes.recycle', { id: second.id })
    expect(await hand(before, delivery(node.id), delivery(second.id))).toEqual(['accepted', 'accepted', 'accepted'])
    expect(await bodies(node.id)).toEqual([])
    expect(await bodies(third.id)).toHaveLength(3)
  })
})

describe('a node that takes no event', () => {
  it('is gone when it was canceled, is done, or never was, and holds up no other', async () => {
    const [canceled, done, other] = [await lifecycle.running(), await lifecycle.running(), await lifecycle.running()]
    await lifecycle.call('nodes.cancel', { id: canceled.node.id })
    await done.broker.push('final', 'done')
    await lifecycle.until(done.node.id, 'done')
    const ids = [canceled.node.id, done.node.id, newId('node'), other.node.id]
    expect(await hand(...ids.map((id) => delivery(id)))).toEqual(['gone', 'gone', 'gone', 'accepted'])
  })

  it('that died keeps it for when it is brought back, and is not woken by it', async () => {
    const { node, broker } = await lifecycle.running()
    await broker.append(started(1))
    const fault = { kind: 'model_not_found', message: 'no such model' }
    await broker.append({ type: 'turn_ended', turn: 1, status: 'failed', fault } as never)
    await lifecycle.until(node.id, 'dead')
    expect(await hand(delivery(node.id))).toEqual(['accepted'])
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'dead' })
    await lifecycle.call('nodes.revive', { id: node.id, mode: 'resume' })
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(assignment.mail.map(({ kind }) => kind)).toContain('event')
  })

  it('says that its box is full, for each behind too, and has those that it took before', async () => {
    const { node } = await lifecycle.running()
    const before = delivery(node.id)
    await hand(before)
    const { unread } = (
      await lifecycle.database.query<{ unread: number }>(
        `SELECT count(*)::int AS unread FROM canvas.mail WHERE node_id = '${node.id}' AND acknowledged_at IS NULL`,
      )
    )[0]!
    await write(`INSERT INTO canvas.mail (id, node_id, seq, tier, kind, body, source, engagement, created_at)
      SELECT 'msg_' || n || '${node.id}', '${node.id}', 1000 + n, 'deferred', 'notice', 'n', '{"kind":"system","id":null}', 1, now()
        FROM generate_series(1, ${nodeLimits.unreadMail - unread - 1}) n`)
    const [fits, over, behind] = [delivery(node.id), delivery(node.id), delivery(node.id)]
    expect(await hand(before, fits, over, behind)).toEqual(['accepted', 'accepted', 'full', 'full'])
    expect(await hand(fits, over)).toEqual(['accepted', 'full'])
    await write(`UPDATE canvas.mail SET acknowledged_at = now() WHERE node_id = '${node.id}' AND kind = 'notice'`)
    expect(await hand(over, behind)).toEqual(['accepted', 'accepted'])
    expect(await events(node.id)).toHaveLength(4)
  })

  it('has either taken one or has ended, whichever was first, in a race with its cancel', async () => {
    const nodes = await Promise.all(Array.from({ length: 8 }, () => lifecycle.running()))
    const outcomes = await Promise.all(
      nodes.flatMap(({ node }) => [
        hand(delivery(node.id)).then(([outcome]) => ({ id: node.id, outcome })),
        lifecycle.call('nodes.cancel', { id: node.id }, ownerContext()).then(() => undefined),
      ]),
    )
    for (const { id, outcome } of outcomes.flatMap((one) => one ?? [])) {
      const types = await lifecycle.recorded(id)
      expect(await events(id)).toHaveLength(outcome === 'accepted' ? 1 : 0)
      const accepted = types.findIndex(({ data }) => data.kind === 'event')
      const ended = types.findIndex(({ type }) => type === 'node.canceled')
      if (outcome === 'accepted') expect(accepted).toBeLessThan(ended)
    }
  })
})
