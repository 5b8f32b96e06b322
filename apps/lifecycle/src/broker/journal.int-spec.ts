import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { JournalEntry } from '#common/contract/index.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { LifecycleUnderTest, said, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const tool = (turn: number, call_id: string): JournalEntry => ({
  type: 'tool_started',
  turn,
  step: 1,
  call_id,
  name: 'bash',
  input: { command: 'ls' },
})
const toolEnd = (
  turn: number,
  call_id: string,
  status: 'completed' | 'outcome_unknown' = 'completed',
): JournalEntry => ({
  type: 'tool_ended',
  turn,
  step: 1,
  call_id,
  name: 'bash',
  status,
  output: 'files',
  exit_code: 0,
})
const conflict = (next_ord: number) => ({ code: 'journal_conflict', fields: { next_ord } })

describe('append', () => {
  it('records entries in order and tells of each', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    expect(await broker.append(started(1, assignment.mail), said(1, 1), tool(1, 'a'))).toEqual({
      next_ord: 4,
      next: 'continue',
    })
    expect(await broker.append(toolEnd(1, 'a'))).toEqual({ next_ord: 5, next: 'continue' })
    expect((await lifecycle.typesOf(node.id)).slice(2)).toEqual([
      'turn.started',
      'message.completed',
      'tool.started',
      'tool.ended',
    ])
    const calls = await lifecycle.database.query(
      'SELECT call_id, status, ended_at FROM canvas.tool_calls WHERE node_id = $1',
      [node.id],
    )
    expect(calls).toEqual([{ call_id: 'a', status: 'completed', ended_at: expect.any(Date) }])
  })

  it('acknowledges the mail of a turn together with its beginning', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    const rows = await lifecycle.database.query(
      'SELECT turn, acknowledged_at IS NOT NULL AS read FROM canvas.mail WHERE node_id = $1',
      [node.id],
    )
    expect(rows).toEqual([{ turn: 1, read: true }])
    expect((await broker.claim()).mail).toEqual([])
  })

  it('sent again changes nothing and is answered as before', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    const entries = [started(1, assignment.mail), tool(1, 'a')]
    const first = await broker.appendAt(1, ...entries)
    const before = await lifecycle.recorded(node.id)
    expect(await broker.appendAt(1, ...entries)).toEqual(first)
    expect(await lifecycle.recorded(node.id)).toEqual(before)
    await broker.appendAt(3, toolEnd(1, 'a'))
    expect(await broker.appendAt(1, ...entries)).toEqual({ next_ord: 4, next: 'continue' })
  })

  it('refuses other entries at a written position, a piece that goes beyond it, and a gap', async () => {
    const { broker } = await lifecycle.running()
    await broker.appendAt(1, started(1), said(1, 1))
    expect(await failure(broker.appendAt(2, said(1, 1, 'something else')))).toMatchObject(conflict(3))
    expect(await failure(broker.appendAt(2, said(1, 1), said(1, 2)))).toMatchObject(conflict(3))
    expect(await failure(broker.appendAt(4, said(1, 2)))).toMatchObject(conflict(3))
  })

  it('lets one of two that write at one position win', async () => {
    const { broker } = await lifecycle.running()
    await broker.appendAt(1, started(1))
    const both = await Promise.allSettled([broker.appendAt(2, said(1, 1, 'a')), broker.appendAt(2, said(1, 1, 'b'))])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('refuses an older generation, whoever hosts now, and a node that was canceled or given up', async () => {
    const { node, broker } = await lifecycle.running()
    await lifecycle.host.lose(node.id, 1)
    const { broker: next } = await lifecycle.bound(node.id, 2)
    expect(await failure(broker.appendAt(1, started(1)))).toMatchObject({ code: 'stale_generation' })
    await next.append(started(1))
    await lifecycle.call('nodes.cancel', { id: node.id })
    for (const write of [
      () => next.append(said(1, 1)),
      () => next.claim(),
      () => next.call('nodes.broker.deltas', { deltas: [] }),
    ]) {
      expect(await failure(write())).toMatchObject({ code: 'stale_generation', fields: { state: 'canceled' } })
    }
    const dead = await lifecycle.running()
    await dead.broker.turn(1, [], { status: 'failed' })
    expect(await failure(dead.broker.append(started(2)))).toMatchObject({ code: 'stale_generation' })
  })

  // Model calls are kept under the number of their turn: one that comes back would be answered from an old record.
  it('refuses a turn that was counted before, and an entry of another turn', async () => {
    const { broker } = await lifecycle.running()
    await lifecycle.message(broker.nodeId, 'more')
    await broker.turn(1, [])
    expect(await failure(broker.append(started(1)))).toMatchObject(conflict(3))
    await broker.append(started(2))
    expect(await failure(broker.append(said(1, 1)))).toMatchObject(conflict(4))
  })

  it('refuses a turn of a node that rests', async () => {
    const { broker, assignment } = await lifecycle.running()
    expect(await broker.turn(1, assignment.mail)).toMatchObject({ next: 'stop' })
    expect(await failure(broker.append(started(2)))).toMatchObject({
      code: 'stale_generation',
      fields: { state: 'idle' },
    })
  })

  it('refuses a tool call whose id this turn has already, and takes it in the next turn', async () => {
    const { node, broker } = await lifecycle.running()
    await lifecycle.message(node.id, 'more')
    await broker.append(started(1), tool(1, 'a'), toolEnd(1, 'a', 'outcome_unknown'))
    expect(await failure(broker.append(tool(1, 'a')))).toMatchObject({ code: 'journal_conflict' })
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    expect(await broker.append(started(2), tool(2, 'a'))).toMatchObject({ next_ord: 7 })
  })
})

describe('a journal that no message could carry', () => {
  // a bind that carried the whole journal could never be answered again once the conversation passed the bus's limit
  it('is read by pages, each entry once and in order', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    const long = 'x'.repeat(700_000)
    for (let step = 1; step <= 14; step += 1) {
      await broker.append({
        type: 'message',
        turn: 1,
        step,
        role: 'assistant',
        content: [{ type: 'text', text: long }],
      })
    }
    const again = await broker.bind()
    const ords = again.journal.map(({ ord }) => ord)
    expect(again.next_ord).toBe(16)
    expect(ords.length).toBeLessThan(15)
    while (ords.length < 15) {
      const page = await broker.call('nodes.broker.readJournal', { from: ords.length + 1 })
      expect(page.next_ord).toBe(16)
      ords.push(...page.journal.map(({ ord }) => ord))
    }
    expect(ords).toEqual(Array.from({ length: 15 }, (_, at) => at + 1))
    expect((await lifecycle.retrieve(node.id)).status).toBe('active')
  })
})

describe('the end of a turn', () => {
  it('of a resident keeps its last word as a report, and lets it rest', async () => {
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'resident' })
    await broker.turn(1, assignment.mail, { final: 'three files' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle' })
    expect((await lifecycle.call('nodes.reports.list', { id: node.id, limit: 10 })).data).toMatchObject([
      { kind: 'update', body: 'three files' },
    ])
  })

  it('lets a resident rest', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    expect(await broker.turn(1, assignment.mail)).toEqual({ next_ord: 3, next: 'stop' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle', intent: 'idle_release', broker: null })
    expect((await lifecycle.typesOf(node.id)).slice(-2)).toEqual(['turn.ended', 'node.idle'])
  })

  it('repeated is answered with the same word', async () => {
    const { broker, assignment } = await lifecycle.running()
    const entries: JournalEntry[] = [started(1, assignment.mail), { type: 'turn_ended', turn: 1, status: 'completed' }]
    expect(await broker.appendAt(1, ...entries)).toEqual(await broker.appendAt(1, ...entries))
  })

  it('goes on while mail is unread, unless all of it is deferred', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await lifecycle.message(node.id, 'more')
    expect(await broker.turn(1, assignment.mail)).toMatchObject({ next: 'continue' })
    await lifecycle.message(node.id, 'some day', 'deferred')
    const { mail } = await broker.claim()
    expect(
      await broker.turn(
        2,
        mail.filter(({ tier }) => tier === 'normal'),
      ),
    ).toMatchObject({ next: 'stop' })
  })

  it('ends a terminal node with its final report', async () => {
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'terminal' })
    expect(await broker.turn(1, assignment.mail, { final: 'all is well' })).toMatchObject({ next: 'stop' })
    expect(await lifecycle.outcome(node.id)).toMatchObject({
      status: 'done',
      settled: true,
      error: null,
      final_report: { kind: 'final', body: 'all is well', engagement: 1 },
    })
  })

  it('makes the newest report of a terminal node its final one when it names none', async () => {
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'terminal' })
    await broker.push('update', 'half')
    await broker.push('update', 'nearly')
    await broker.turn(1, assignment.mail)
    expect(await lifecycle.outcome(node.id)).toMatchObject({ final_report: { kind: 'final', body: 'nearly' } })
  })

  it('lets a terminal node that said nothing wait, and one that was interrupted', async () => {
    for (const end of [{}, { status: 'interrupted', final: 'cut' }] as const) {
      const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'terminal' })
      expect(await broker.turn(1, assignment.mail, end)).toMatchObject({ next: 'stop' })
      expect(await lifecycle.outcome(node.id)).toMatchObject({ status: 'idle', settled: false })
    }
  })

  it('is a fault for one that owes a result and gave none', async () => {
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'terminal', result_schema: {} })
    await broker.turn(1, assignment.mail, { final: 'no' })
    expect(await lifecycle.outcome(node.id)).toMatchObject({
      status: 'dead',
      final_report: null,
      error: { kind: 'other' },
    })
  })

  it('in a passing fault starts a new process when the provider said, and not before', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    const fault = { kind: 'rate_limit', message: 'slow down', retry_after_ms: 1000 } as const
    expect(await broker.turn(1, assignment.mail, { status: 'failed', fault })).toMatchObject({ next: 'stop' })
    const held = await lifecycle.retrieve(node.id)
    expect(held).toMatchObject({ status: 'active', generation: 2, broker: null, attention_count: 1 })
    expect(held.fault).toMatchObject({ kind: 'rate_limit', message: 'slow down' })
    const wait = Date.parse(held.fault?.retry_at as string) - Date.parse(held.fault?.since as string)
    expect(wait).toBeGreaterThanOrEqual(1000)
    expect(wait).toBeLessThanOrEqual(1200)
    const next = await lifecycle.bound(node.id, 2)
    const launched = Date.parse((await lifecycle.retrieve(node.id)).updated_at)
    expect(launched).toBeGreaterThanOrEqual(Date.parse(held.fault?.retry_at as string))
    await next.broker.append(started(2), said(2, 1))
    expect((await lifecycle.retrieve(node.id)).fault).toBeNull()
    expect(await lifecycle.typesOf(node.id)).toEqual(expect.arrayContaining(['node.fault', 'node.fault_cleared']))
  })

  it('in any other fault ends the node as dead and ends its process', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    const fault = { kind: 'other', message: 'the request was refused' } as const
    expect(await broker.turn(1, assignment.mail, { status: 'failed', fault })).toMatchObject({ next: 'stop' })
    expect(await lifecycle.outcome(node.id)).toMatchObject({ status: 'dead', settled: true, error: fault })
  })
})
