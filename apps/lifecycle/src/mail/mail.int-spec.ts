import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { newId } from '#common/kernel/ids.js'
import { LifecycleUnderTest, nodeContext, ownerContext, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const bodies = (mail: readonly { body: string }[]): string[] => mail.map(({ body }) => body)

/** A resident that rests after its first turn. */
const resting = async () => {
  const { node, broker, assignment } = await lifecycle.running()
  await broker.turn(1, assignment.mail)
  return node
}

describe('claim', () => {
  it('leases unread mail in the order in which it was accepted, however it came', async () => {
    const { node, broker } = await lifecycle.running({ prompt: 'first' })
    const sent = Array.from({ length: 20 }, (_, at) => `m${at}`)
    await Promise.all(sent.map((body) => lifecycle.message(node.id, body)))
    const { mail } = await broker.claim()
    expect(mail.map(({ seq }) => seq)).toEqual(Array.from({ length: 21 }, (_, at) => at + 1))
    expect(bodies(mail).slice(1).sort()).toEqual([...sent].sort())
    expect(new Set(mail.map(({ id }) => id)).size).toBe(21)
  })

  // Thirty long messages made a first entry of the journal that no request could carry, and the node died of it.
  it('takes no more at once than a turn can record, and goes on with the rest', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    const long = 'x'.repeat(250_000)
    for (let sent = 0; sent < 5; sent += 1) await lifecycle.message(node.id, long)
    const { mail } = await broker.claim()
    expect(mail).toHaveLength(4)
    await broker.call('nodes.mail.acknowledge', { ids: mail.map(({ id }) => id) })
    expect((await broker.claim()).mail).toHaveLength(1)
  })

  it('answers the same mail again to the same generation until it is acknowledged', async () => {
    const { broker, assignment } = await lifecycle.running()
    const [first] = assignment.mail
    expect((await broker.claim()).mail).toEqual([first])
    expect(await broker.call('nodes.mail.acknowledge', { ids: [first!.id] })).toEqual({ acknowledged: 1 })
    expect(await broker.call('nodes.mail.acknowledge', { ids: [first!.id] })).toEqual({ acknowledged: 0 })
    expect((await broker.claim()).mail).toEqual([])
  })

  it('gives to the next generation what the one before leased and never acknowledged', async () => {
    const { node, assignment } = await lifecycle.running({ prompt: 'held' })
    await lifecycle.host.lose(node.id, 1)
    expect((await lifecycle.bound(node.id, 2)).assignment.mail).toEqual(assignment.mail)
  })

  it('takes only what steers when asked to', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    await lifecycle.message(node.id, 'later', 'normal')
    await lifecycle.message(node.id, 'some day', 'deferred')
    await lifecycle.message(node.id, 'now', 'urgent')
    await lifecycle.message(node.id, 'stop', 'critical')
    expect(bodies((await broker.claim(true)).mail)).toEqual(['now', 'stop'])
    expect(bodies((await broker.claim()).mail)).toEqual(['later', 'some day', 'now', 'stop'])
  })

  it('refuses an older generation and anybody else', async () => {
    const { node, broker } = await lifecycle.running()
    await lifecycle.host.lose(node.id, 1)
    await lifecycle.bound(node.id, 2)
    expect(await failure(broker.claim())).toMatchObject({ code: 'stale_generation' })
    const claim = { id: node.id, limit: 1, steering: false }
    expect(await failure(lifecycle.call('nodes.mail.claim', claim))).toMatchObject({ code: 'node_token_required' })
  })
})

describe('message', () => {
  it('to a node that is at work is delivered live, to one that starts it is queued', async () => {
    const { node } = await lifecycle.running()
    expect(await lifecycle.message(node.id, 'x')).toMatchObject({ delivered: 'live' })
    lifecycle.host.onLaunch = () => new Promise(() => undefined)
    const starting = await lifecycle.create()
    expect(await lifecycle.message(starting.id, 'x')).toMatchObject({ delivered: 'queued' })
    lifecycle.host.onLaunch = () => undefined
  })

  it('revives one that rests, in the same piece of work, and is its first mail', async () => {
    const node = await resting()
    expect(await lifecycle.message(node.id, 'wake up')).toMatchObject({ delivered: 'revived' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', generation: 2, engagement: 1 })
    expect(bodies((await lifecycle.bound(node.id, 2)).assignment.mail)).toEqual(['wake up'])
  })

  it('revives one that is done or dead with a new piece of work', async () => {
    const done = await lifecycle.running({ lifecycle: 'terminal' })
    await done.broker.turn(1, done.assignment.mail, { final: 'that was it' })
    expect(await lifecycle.message(done.node.id, 'more')).toMatchObject({ delivered: 'revived' })
    expect(await lifecycle.retrieve(done.node.id)).toMatchObject({ status: 'active', engagement: 2, fault: null })
    expect(await lifecycle.outcome(done.node.id)).toMatchObject({ settled: false, final_report: null, engagement: 2 })

    const dead = await lifecycle.running()
    await dead.broker.turn(1, dead.assignment.mail, { status: 'failed', fault: { kind: 'other', message: 'broke' } })
    expect(await lifecycle.message(dead.node.id, 'again')).toMatchObject({ delivered: 'revived' })
    expect(await lifecycle.retrieve(dead.node.id)).toMatchObject({ status: 'active', engagement: 2, fault: null })
  })

  it('that is deferred wakes nobody, and is read with the next one that does', async () => {
    const node = await resting()
    expect(await lifecycle.message(node.id, 'some day', 'deferred')).toMatchObject({ delivered: 'queued' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle' })
    await lifecycle.message(node.id, 'now')
    expect(bodies((await lifecycle.bound(node.id, 2)).assignment.mail)).toEqual(['some day', 'now'])
  })

  it('is refused for a canceled and for an unknown node', async () => {
    const node = await lifecycle.create()
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect(await failure(lifecycle.message(node.id, 'x'))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'canceled', event: 'message' },
    })
    expect(await failure(lifecycle.message(newId('node'), 'x'))).toMatchObject({ code: 'not_found' })
  })

  it('sent twice with one key is one message', async () => {
    const { node, broker } = await lifecycle.running()
    const ctx = ownerContext({ idempotencyKey: 'm' })
    const first = await lifecycle.message(node.id, 'x', 'normal', ctx)
    expect(await lifecycle.message(node.id, 'x', 'normal', ctx)).toEqual(first)
    expect((await broker.claim()).mail).toHaveLength(2)
  })

  it('from a node reaches its tree and nothing else', async () => {
    const [root, other] = [await lifecycle.create(), await lifecycle.create()]
    const [child, sibling] = [
      await lifecycle.create({ parent_id: root.id }),
      await lifecycle.create({ parent_id: root.id }),
    ]
    const ctx = nodeContext(child.id)
    for (const id of [root.id, sibling.id]) {
      expect(await lifecycle.message(id, 'hello', 'normal', ctx)).toMatchObject({ message_id: expect.any(String) })
    }
    expect(await failure(lifecycle.message(other.id, 'hello', 'normal', ctx))).toMatchObject({ code: 'not_found' })
  })

  it('is refused when 10,000 are unread', async () => {
    const node = await resting()
    await lifecycle.message(node.id, 'wake')
    await lifecycle.database.query(
      `SET svc.epoch = '${(await lifecycle.call('lifecycle.status', {})).epoch}';
       INSERT INTO canvas.mail (id, node_id, seq, tier, kind, body, source, engagement, created_at)
       SELECT 'm' || n, '${node.id}', 1000 + n, 'normal', 'message', 'x', '{}', 1, now() FROM generate_series(1, 10000) n`,
    )
    expect(await failure(lifecycle.message(node.id, 'x'))).toMatchObject({
      code: 'quota_exceeded',
      fields: { limit: 'unread_mail', max: 10_000 },
    })
  })

  // Once a message that came while a node went to rest waited there for ever.
  it('that races the end of a turn is never left behind: the node goes on, or is revived', async () => {
    const races = Array.from({ length: 50 }, async () => {
      const { node, broker, assignment } = await lifecycle.running()
      await broker.append(started(1, assignment.mail))
      const [answer, receipt] = await Promise.all([
        broker.append({ type: 'turn_ended', turn: 1, status: 'completed' }),
        lifecycle.message(node.id, 'psst'),
      ])
      const now = await lifecycle.retrieve(node.id)
      return { next: answer.next, delivered: receipt.delivered, status: now.status, generation: now.generation }
    })
    const outcomes = (await Promise.all(races)).map((race) => Object.values(race).join(' '))
    const allowed = ['continue live active 1', 'stop revived active 2']
    expect(outcomes.filter((outcome) => !allowed.includes(outcome))).toEqual([])
  })
})
