import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
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

/** A resident parent that rests, and its child at work. */
const family = async (more: Record<string, unknown> = {}) => {
  const { node: parent, broker, assignment } = await lifecycle.running({ name: 'boss' })
  await broker.turn(1, assignment.mail)
  const child = await lifecycle.running({ parent_id: parent.id, name: 'hand', ...more })
  return { parent, child }
}

describe('a report', () => {
  it('on the way is kept, and wakes the parent that rests', async () => {
    const { parent, child } = await family()
    const report = await child.broker.push('update', 'half way')
    expect(report).toMatchObject({ kind: 'update', body: 'half way', engagement: 1, node_id: child.node.id })
    expect(await lifecycle.retrieve(child.node.id)).toMatchObject({ status: 'active' })
    expect((await lifecycle.bound(parent.id, 2)).assignment.mail).toMatchObject([
      { kind: 'report', tier: 'normal', body: 'half way', source: { kind: 'node', id: child.node.id, name: 'hand' } },
    ])
    expect(await lifecycle.typesOf(parent.id)).toEqual(
      expect.arrayContaining(['child.reported', 'message.accepted', 'node.revived']),
    )
  })

  it('that is final ends the work: report, mail and end at once, and the broker is told to stop', async () => {
    const { parent, child } = await family()
    await child.broker.append(started(1, child.assignment.mail))
    await child.broker.push('final', 'done it')
    expect(await lifecycle.outcome(child.node.id)).toMatchObject({
      status: 'done',
      settled: true,
      final_report: { body: 'done it' },
    })
    expect(await lifecycle.retrieve(parent.id)).toMatchObject({ status: 'active', generation: 2 })
    expect((await lifecycle.bound(parent.id, 2)).assignment.mail).toMatchObject([{ tier: 'urgent', body: 'done it' }])
    expect(await child.broker.append(said(1, 1))).toMatchObject({ next: 'stop' })
    const end = { type: 'turn_ended', turn: 1, status: 'completed' } as const
    expect(await child.broker.append(end)).toMatchObject({ next: 'stop' })
  })

  // Such a message was once accepted as delivered, and lay unread for ever.
  it.each(['records the end of its turn', 'dies'])(
    'that is final leaves no message unread that came before it, once the process %s',
    async (then) => {
      const { parent, child } = await family()
      await child.broker.append(started(1, child.assignment.mail))
      expect(await lifecycle.message(child.node.id, 'and the garden')).toMatchObject({ delivered: 'live' })
      await lifecycle.message(child.node.id, 'by the way', 'deferred')
      await child.broker.push('final', 'done it')
      expect(await lifecycle.outcome(child.node.id)).toMatchObject({
        status: 'done',
        final_report: { body: 'done it' },
      })
      if (then === 'dies') await lifecycle.host.lose(child.node.id, 1)
      else {
        const end = { type: 'turn_ended', turn: 1, status: 'completed' } as const
        expect(await child.broker.append(end)).toMatchObject({ next: 'stop' })
      }
      const { broker, assignment } = await lifecycle.bound(child.node.id, 2)
      expect(assignment).toMatchObject({ engagement: 2, mail: [{ body: 'and the garden' }, { body: 'by the way' }] })
      await broker.turn(2, assignment.mail, { final: 'the garden too' })
      expect(await lifecycle.outcome(child.node.id)).toMatchObject({ status: 'done', engagement: 2 })
      const { assignment: told } = await lifecycle.bound(parent.id, 2)
      expect(told.mail.map(({ body }) => body)).toEqual(['done it', 'the garden too'])
    },
  )

  it('that is final comes once, also when two are given at the same time', async () => {
    const { child } = await family()
    const both = await Promise.allSettled([child.broker.push('final', 'a'), child.broker.push('final', 'b')])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await failure(child.broker.push('final', 'c'))).toMatchObject({ code: 'already_finalized' })
    const page = await lifecycle.call('nodes.reports.list', { id: child.node.id, limit: 50 })
    expect(page.data.filter(({ kind }) => kind === 'final')).toHaveLength(1)
  })

  it('that is final may be given again once the node has new work', async () => {
    const { child } = await family()
    await child.broker.push('final', 'one')
    await lifecycle.message(child.node.id, 'more')
    const { broker, assignment } = await lifecycle.bound(child.node.id, 2)
    expect(assignment).toMatchObject({ engagement: 2, reported: false })
    await broker.push('final', 'two')
    expect(await lifecycle.outcome(child.node.id)).toMatchObject({ engagement: 2, final_report: { body: 'two' } })
  })

  // Closing a node once brought a parent back whose work had ended long ago.
  it('of a child, or its end, does not reopen the work of a parent that has ended', async () => {
    const boss = await lifecycle.running({ lifecycle: 'terminal' })
    const one = await lifecycle.running({ parent_id: boss.node.id })
    const two = await lifecycle.running({ parent_id: boss.node.id })
    await boss.broker.turn(1, boss.assignment.mail, { final: 'enough' })
    await one.broker.push('final', 'late')
    await lifecycle.call('nodes.cancel', { id: two.node.id })
    expect(await lifecycle.outcome(boss.node.id)).toMatchObject({ status: 'done', engagement: 1, settled: true })
    await lifecycle.message(boss.node.id, 'anything else?')
    const { assignment } = await lifecycle.bound(boss.node.id, 2)
    expect(assignment.mail.map(({ kind }) => kind)).toEqual(['report', 'notice', 'message'])
  })

  it("is a node's own alone, and refused when the node was canceled", async () => {
    const { parent, child } = await family()
    const input = { id: child.node.id, kind: 'update', body: 'x' }
    expect(await failure(lifecycle.call('nodes.reports.push', input))).toMatchObject({ code: 'node_token_required' })
    expect(await failure(lifecycle.call('nodes.reports.push', input, nodeContext(parent.id)))).toMatchObject({
      code: 'node_token_required',
    })
    await lifecycle.call('nodes.cancel', { id: child.node.id })
    expect(await failure(child.broker.push('update', 'x'))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'canceled', event: 'report' },
    })
  })

  it('on the way is refused when the box that it goes to is full; a final one is not', async () => {
    const { parent, child } = await family()
    const { epoch } = await lifecycle.call('lifecycle.status', {})
    await lifecycle.database.query(
      `SET svc.epoch = '${epoch}';
       INSERT INTO canvas.mail (id, node_id, seq, tier, kind, body, source, engagement, created_at)
       SELECT 'r' || n, '${parent.id}', 1000 + n, 'normal', 'report', 'x', '{}', 1, now() FROM generate_series(1, 10000) n`,
    )
    expect(await failure(child.broker.push('update', 'x'))).toMatchObject({ code: 'quota_exceeded' })
    expect(await child.broker.push('final', 'x')).toMatchObject({ kind: 'final' })
  })

  it('is listed by pages, oldest first, for whom it concerns', async () => {
    const { parent, child } = await family()
    for (const body of ['1', '2', '3', '4', '5']) await child.broker.push('update', body)
    const seen: string[] = []
    for (let after: string | undefined, more = true; more; ) {
      const input = { id: child.node.id, limit: 2, ...(after && { after }) }
      const page = await lifecycle.call('nodes.reports.list', input, nodeContext(parent.id))
      seen.push(...page.data.map(({ body }) => body))
      more = page.has_more
      after = page.next_cursor ?? undefined
    }
    expect(seen).toEqual(['1', '2', '3', '4', '5'])
    const stranger = nodeContext((await lifecycle.create()).id)
    expect(
      await failure(lifecycle.call('nodes.reports.list', { id: child.node.id, limit: 2 }, stranger)),
    ).toMatchObject({
      code: 'not_found',
    })
  })
})

describe('a result', () => {
  const schema = {
    type: 'object',
    properties: { count: { type: 'integer', minimum: 0 }, name: { type: 'string' } },
    required: ['count'],
    additionalProperties: false,
  }

  it('ends the work once, is immutable, and tells the parent', async () => {
    const { parent, child } = await family({ result_schema: schema })
    const outcome = await child.broker.call('nodes.result.submit', { value: { count: 3 } })
    expect(outcome).toMatchObject({ status: 'done', settled: true, result: { count: 3 } })
    expect(await failure(child.broker.call('nodes.result.submit', { value: { count: 4 } }))).toMatchObject({
      code: 'result_already_submitted',
    })
    expect(await lifecycle.outcome(child.node.id)).toMatchObject({ result: { count: 3 } })
    expect((await lifecycle.bound(parent.id, 2)).assignment.mail).toMatchObject([{ body: 'Result: {"count":3}' }])
  })

  it('may be followed by one final report', async () => {
    const { child } = await family()
    await child.broker.call('nodes.result.submit', { value: null })
    expect(await child.broker.push('final', 'in words')).toMatchObject({ kind: 'final' })
    expect(await lifecycle.outcome(child.node.id)).toMatchObject({ result: null, final_report: { body: 'in words' } })
    expect(await failure(child.broker.push('final', 'more'))).toMatchObject({ code: 'already_finalized' })
  })

  it('that does not fit the schema is refused with each difference, and nothing is kept', async () => {
    const { child } = await family({ result_schema: schema })
    const ask = child.broker.call('nodes.result.submit', { value: { count: -1, name: 5, more: 1 } })
    const { code, fields } = await failure(ask)
    expect(code).toBe('result_schema_mismatch')
    expect(fields.errors?.map(({ pointer }) => pointer).sort()).toEqual(['/value', '/value/count', '/value/name'])
    expect(await lifecycle.outcome(child.node.id)).not.toHaveProperty('result')
    await child.broker.call('nodes.result.submit', { value: { count: 0 } })
  })

  it('is owed before a final report when there is a schema', async () => {
    const { child } = await family({ result_schema: schema })
    expect(await failure(child.broker.push('final', 'no'))).toMatchObject({
      code: 'illegal_transition',
      fields: { event: 'finalize' },
    })
    expect(await lifecycle.retrieve(child.node.id)).toMatchObject({ status: 'active' })
  })

  it('sent again with its key is answered again', async () => {
    const { child } = await family()
    const ctx = { ...child.broker.ctx, idempotencyKey: 'r' }
    const first = await lifecycle.call('nodes.result.submit', { id: child.node.id, value: 1 }, ctx)
    expect(await lifecycle.call('nodes.result.submit', { id: child.node.id, value: 1 }, ctx)).toEqual(first)
  })

  it('larger than 512 KiB, or none at all, is refused', async () => {
    const { child } = await family()
    expect(await failure(child.broker.call('nodes.result.submit', {}))).toMatchObject({ code: 'validation_failed' })
    const ask = child.broker.call('nodes.result.submit', { value: 'x'.repeat(513 * 1024) })
    expect(await failure(ask)).toMatchObject({ code: 'payload_too_large' })
  })

  it('of a canceled node, or of a node outside the own tree, is refused', async () => {
    const { child } = await family()
    const stranger = nodeContext((await lifecycle.create()).id)
    const input = { id: child.node.id, value: 1 }
    expect(await failure(lifecycle.call('nodes.result.submit', input, stranger))).toMatchObject({ code: 'not_found' })
    await lifecycle.call('nodes.cancel', { id: child.node.id })
    expect(await failure(lifecycle.call('nodes.result.submit', input, ownerContext()))).toMatchObject({
      code: 'illegal_transition',
    })
  })

  // A pattern that backtracks for ever once stopped the only writer.
  it('that would take for ever to check is refused, and others are served meanwhile', async () => {
    const { child } = await family({ result_schema: { type: 'string', pattern: '^(a+)+$' } })
    const checking = failure(child.broker.call('nodes.result.submit', { value: `${'a'.repeat(40)}!` }))
    const served = Promise.all(Array.from({ length: 20 }, () => lifecycle.retrieve(child.node.id)))
    expect(await Promise.race([checking.then(() => 'checked'), served.then(() => 'served')])).toBe('served')
    expect(await checking).toMatchObject({ code: 'result_schema_mismatch' })
    expect(await child.broker.call('nodes.result.submit', { value: 'aaa' })).toMatchObject({ status: 'done' })
  })
})
