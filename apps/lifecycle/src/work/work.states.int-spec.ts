import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { NodeCreate } from '#common/contract/index.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import type { Reader } from '#common/kernel/database/tx.js'
import {
  LifecycleUnderTest,
  ownerContext,
  type PlayedBroker,
  started,
} from '../../../../test/support/lifecycle-service.js'
import { Housekeeping } from '../housekeeping.js'
import { Asking, byOwner, message, newKey, newNode } from './work.fixture.js'
import { WorkRepository } from './work.repository.js'

let lifecycle: LifecycleUnderTest
let asking: Asking
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start({ settings: { SVC_LAUNCH_BUDGET: 1 } })
  asking = new Asking(lifecycle)
})
afterAll(() => lifecycle.stop())

const loop = { engine: 'loop', exec: undefined }
const auth = { kind: 'auth', message: 'the key was refused' } as const
const limited = { kind: 'rate_limit', message: 'slow down', retry_after_ms: 1000 } as const
const other = { kind: 'other', message: 'exit code 3' } as const

/** A node that was made by a firing, and its process. */
const made = async (more: Record<string, unknown> = {}) => {
  const key = newKey()
  const { node_id: id } = await asking.start(byOwner, newNode(more), key)
  return { key, id, ...(await lifecycle.bound(id)) }
}
const terminal = { lifecycle: 'terminal' } as const

/** A resident that rests, or a terminal node that is done. */
const resting = async (more: Partial<NodeCreate> = {}) => {
  const { node, broker, assignment } = await lifecycle.running(more)
  await broker.turn(1, assignment.mail, { final: 'first' })
  return { node, broker }
}

const sent = async (id: string, more: Record<string, unknown> = {}) => {
  const key = newKey()
  const { message_id } = await asking.start(byOwner, message(id, more), key)
  return { key, mail: [{ id: message_id }] }
}

const fail = (broker: PlayedBroker, turn: number, mail: { id: string }[], fault: object) =>
  broker.turn(turn, mail, { status: 'failed', fault: fault as never })

const isRunning = { state: 'running', ended_at: null, error: null }
const isDone = { state: 'succeeded', ended_at: expect.any(String), error: null }
const isCanceled = { state: 'canceled', ended_at: expect.any(String), error: { code: 'canceled' } }
const isFailed = ({ kind, message }: { kind: string; message: string }) => ({
  state: 'failed',
  ended_at: expect.any(String),
  error: { code: kind, message },
})

describe('a terminal node that was made', () => {
  it('has succeeded with its final report', async () => {
    const { key, id, broker, assignment } = await made(terminal)
    expect(await asking.state(key)).toMatchObject({ ...isRunning, key, node_id: id })
    await broker.append(started(1, assignment.mail))
    expect(await asking.state(key)).toMatchObject(isRunning)
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed', final: 'done' })
    expect(await asking.state(key)).toMatchObject({ ...isDone, node_id: id })
  })

  it('has failed with its fault when its program ends badly, and when it never starts', async () => {
    const { key, broker, assignment } = await made(terminal)
    await fail(broker, 1, assignment.mail, other)
    expect(await asking.state(key)).toMatchObject(isFailed(other))

    const lost = newKey()
    const { node_id } = await asking.start(byOwner, newNode(terminal), lost)
    await lifecycle.broker(node_id)
    await lifecycle.host.lose(node_id, 1)
    await lifecycle.until(node_id, 'dead')
    expect(await asking.state(lost)).toMatchObject({ state: 'failed', error: { code: 'crash_loop' } })
  })

  it('is canceled with it, unread or read', async () => {
    const [unread, read] = [await made(terminal), await made(terminal)]
    await read.broker.append(started(1, read.assignment.mail))
    for (const { id } of [unread, read]) await lifecycle.call('nodes.cancel', { id })
    for (const { key } of [unread, read]) expect(await asking.state(key)).toMatchObject(isCanceled)
  })

  it('stays what it was when the node is given other work, or is canceled later', async () => {
    const { key, id, broker, assignment } = await made(terminal)
    await fail(broker, 1, assignment.mail, other)
    const { ended_at } = await asking.state(key)
    await lifecycle.message(id, 'again')
    const second = await lifecycle.bound(id, 2)
    expect(await asking.state(key)).toMatchObject({ ...isFailed(other), ended_at })
    await second.broker.turn(2, second.assignment.mail, { final: 'fine' })
    expect(await lifecycle.retrieve(id)).toMatchObject({ status: 'done', engagement: 2 })
    expect(await asking.state(key)).toMatchObject({ ...isFailed(other), ended_at })

    const done = await made(terminal)
    await done.broker.turn(1, done.assignment.mail, { final: 'fine' })
    await lifecycle.call('nodes.cancel', { id: done.id })
    expect(await asking.state(done.key)).toMatchObject(isDone)
  })
})

describe('a resident that was made', () => {
  it('has succeeded when its turn is done, and stays so whatever comes later', async () => {
    const { key, id, broker, assignment } = await made()
    await broker.turn(1, assignment.mail)
    expect(await lifecycle.retrieve(id)).toMatchObject({ status: 'idle' })
    const first = await asking.state(key)
    expect(first).toMatchObject({ ...isDone, node_id: id })
    await lifecycle.message(id, 'more')
    const second = await lifecycle.bound(id, 2)
    await fail(second.broker, 2, second.assignment.mail, other)
    expect(await asking.state(key)).toEqual(first)
  })

  it('is canceled by an interruption, and has succeeded when the node says its last', async () => {
    const cut = await made()
    await cut.broker.turn(1, cut.assignment.mail, { status: 'interrupted' })
    expect(await asking.state(cut.key)).toMatchObject(isCanceled)

    const last = await made()
    await last.broker.append(started(1, last.assignment.mail))
    await last.broker.push('final', 'that was it')
    expect(await asking.state(last.key)).toMatchObject(isDone)
  })

  it('goes on in the fresh context that its turn asked for', async () => {
    const { key, id, broker, assignment } = await made(loop)
    await broker.append(started(1, assignment.mail))
    await broker.call('nodes.yield', { note: 'half of it' })
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    expect(await asking.state(key)).toMatchObject(isRunning)
    const second = await lifecycle.bound(id, 2)
    await second.broker.append(started(2, second.assignment.mail))
    expect(await asking.state(key)).toMatchObject(isRunning)
    await second.broker.append({ type: 'turn_ended', turn: 2, status: 'failed', fault: other })
    expect(await asking.state(key)).toMatchObject(isFailed(other))
  })
})

describe('a fault', () => {
  it('that passes by itself is no end, however often it comes', async () => {
    const { key, id, broker, assignment } = await made(loop)
    await fail(broker, 1, assignment.mail, limited)
    expect(await asking.state(key)).toMatchObject(isRunning)
    for (let turn = 2; turn <= 6; turn += 1) {
      await lifecycle.call('nodes.retry', { id })
      const again = await lifecycle.bound(id, turn)
      await fail(again.broker, turn, [], limited)
      expect(await asking.state(key)).toMatchObject(isRunning)
    }
    await lifecycle.call('nodes.retry', { id })
    const last = await lifecycle.bound(id, 7)
    await last.broker.turn(7, [])
    expect(await asking.state(key)).toMatchObject(isDone)
  })

  it.each([
    ['resident', {}],
    ['terminal', terminal],
  ])('that only a person clears fails the work of a %s node at once', async (_lifecycle, more) => {
    const { key, id, broker, assignment } = await made({ ...loop, ...more })
    await fail(broker, 1, assignment.mail, auth)
    expect(await lifecycle.retrieve(id)).toMatchObject({ status: 'active', fault: { held_for: 'credential' } })
    expect(await asking.state(key)).toMatchObject(isFailed(auth))
    const behind = await sent(id)
    expect(await asking.state(behind.key)).toMatchObject(isFailed(auth))
  })
})

describe('a message', () => {
  it('to a resident has succeeded with the turn that took it in', async () => {
    const { node } = await resting()
    const { key, mail } = await sent(node.id)
    expect(await asking.state(key)).toMatchObject({ ...isRunning, node_id: node.id })
    const { broker } = await lifecycle.bound(node.id, 2)
    await broker.append(started(2, mail))
    expect(await asking.state(key)).toMatchObject(isRunning)
    await broker.append({ type: 'turn_ended', turn: 2, status: 'completed' })
    expect(await asking.state(key)).toMatchObject(isDone)
  })

  it('to a resident fails with the fault that its turn died of, and not with one of a later turn', async () => {
    const { node } = await resting()
    const first = await sent(node.id)
    const { broker } = await lifecycle.bound(node.id, 2)
    await broker.append(started(2, first.mail))
    const second = await sent(node.id)
    await broker.append({ type: 'turn_ended', turn: 2, status: 'completed' })
    await broker.append(started(3, second.mail))
    await broker.append({ type: 'turn_ended', turn: 3, status: 'failed', fault: other })
    expect(await asking.states(first.key, second.key)).toMatchObject([isDone, isFailed(other)])
  })

  it('to a node that is done gives it new work, and is settled with that', async () => {
    const { node } = await resting(terminal)
    const { key, mail } = await sent(node.id)
    expect(await asking.state(key)).toMatchObject(isRunning)
    const { broker } = await lifecycle.bound(node.id, 2)
    await broker.append(started(2, mail))
    expect(await asking.state(key)).toMatchObject(isRunning)
    await broker.append({ type: 'turn_ended', turn: 2, status: 'completed', final: 'second' })
    expect(await asking.state(key)).toMatchObject(isDone)
  })

  // It would be told that the work was done by the report of the work before it.
  it('that came while a node said its last belongs to the work that it reopens', async () => {
    const { node, broker, assignment } = await lifecycle.running(terminal)
    await broker.append(started(1, assignment.mail))
    const { key, mail } = await sent(node.id)
    await broker.push('final', 'first')
    expect(await asking.state(key)).toMatchObject(isRunning)
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    const second = await lifecycle.bound(node.id, 2)
    await second.broker.append(started(2, mail))
    expect(await asking.state(key)).toMatchObject(isRunning)
    await second.broker.append({ type: 'turn_ended', turn: 2, status: 'failed', fault: other })
    expect(await asking.state(key)).toMatchObject(isFailed(other))
  })

  it('of the tier deferred is done when it is accepted', async () => {
    const { node } = await resting()
    const { key } = await sent(node.id, { tier: 'deferred' })
    expect(await asking.state(key)).toMatchObject(isDone)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle' })
  })

  it('that nobody had read is canceled or failed with its node', async () => {
    const [first, second] = [await resting(), await resting()]
    const [canceled, lost] = [await sent(first.node.id), await sent(second.node.id)]
    await lifecycle.call('nodes.cancel', { id: first.node.id })
    await lifecycle.broker(second.node.id, 2)
    await lifecycle.host.lose(second.node.id, 2)
    await lifecycle.until(second.node.id, 'dead')
    expect(await asking.states(canceled.key, lost.key)).toMatchObject([
      isCanceled,
      { state: 'failed', error: { code: 'crash_loop' } },
    ])
  })

  it('that nobody had read goes to the root that takes the place of the old one', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    const { key, mail } = await sent(node.id)
    const { node: root } = await lifecycle.call('nodes.recycle', { id: node.id })
    expect(await asking.state(key)).toMatchObject(isRunning)
    const next = await lifecycle.bound(root.id)
    await fail(next.broker, 1, mail, other)
    expect(await asking.state(key)).toMatchObject({ ...isFailed(other), node_id: node.id })
  })
})

describe('many works', () => {
  it('are answered at once, in the order of the question, with those that never were', async () => {
    const { key, broker, assignment } = await made(terminal)
    await broker.turn(1, assignment.mail, { final: 'fine' })
    const keys = Array.from({ length: 500 }, () => newKey())
    const found = await asking.states(...keys.slice(0, 250), key, ...keys.slice(251))
    expect(found).toHaveLength(500)
    expect(found[250]).toMatchObject({ key, ...isDone })
    expect(found.filter(({ state }) => state === 'absent')).toHaveLength(499)
  })
})

describe('the statements that tell it', () => {
  it('find their rows by an index, however many there are', async () => {
    const works = lifecycle.service.app.get(WorkRepository)
    const database = lifecycle.service.app.get(Database)
    const plans: string[] = []
    const explaining: Reader = {
      query: async (text, values) => {
        const lines = await database.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values)
        plans.push(lines.map((line) => line['QUERY PLAN']).join('\n'))
        return []
      },
    }
    const one = { nodeId: 'a', engagement: 1, turn: 1, since: { version: 1, engagement: 1 } }
    await works.inHand(explaining, ['a'])
    await works.marks(explaining, [one])
    await works.endings(explaining, [one])
    await works.faults(explaining, [one])
    await works.older(explaining, new Date(0), { createdAt: new Date(0), id: '' }, 500)
    expect(plans).toEqual([
      expect.stringMatching(/works_pkey.*mail_pkey.*nodes_pkey/s),
      expect.stringMatching(/journal_turns_idx.*transitions_pkey/s),
      expect.stringMatching(/transitions_pkey/),
      expect.stringMatching(/faults_node_id_ord_idx/),
      expect.stringMatching(/works_accepted_at_idx/),
    ])
    for (const plan of plans) expect(plan).not.toMatch(/Seq Scan/)
  })
})

describe('what is kept', () => {
  const prune = () =>
    lifecycle.call('canvas.prune', { older_than: 0, dry_run: false, statuses: ['done'] }, ownerContext())

  it('says of a node that was deleted that nothing is known of it', async () => {
    const { key, broker, assignment } = await made(terminal)
    await broker.turn(1, assignment.mail, { final: 'fine' })
    await prune()
    expect(await asking.state(key)).toMatchObject({ state: 'failed', ended_at: null, error: { code: 'not_found' } })
  })

  it('is forgotten after 90 days, but what still runs never', async () => {
    const [over, running] = [await made(terminal), await made(terminal)]
    await over.broker.turn(1, over.assignment.mail, { final: 'fine' })
    const { epoch } = await lifecycle.call('lifecycle.status', {}, systemContext('gateway'))
    const age = (days: number) =>
      lifecycle.database.query(`SET svc.epoch = '${epoch}'; UPDATE canvas.works SET accepted_at = accepted_at - interval '${days} days'
        WHERE key IN ('${over.key}', '${running.key}')`)
    const round = () => lifecycle.service.app.get(Housekeeping).round()
    await age(89)
    await round()
    expect(await asking.states(over.key, running.key)).toMatchObject([isDone, isRunning])
    await age(2)
    await round()
    expect(await asking.states(over.key, running.key)).toMatchObject([{ state: 'absent' }, isRunning])
  })
})
