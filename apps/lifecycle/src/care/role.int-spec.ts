import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { take } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

const promote = (id: string, body: Record<string, unknown> = {}, ctx = ownerContext()) =>
  lifecycle.call('nodes.promote', { id, ...body }, ctx)
const demote = (id: string, ctx = ownerContext()) => lifecycle.call('nodes.demote', { id }, ctx)
const roadmapOf = (id: string) => lifecycle.call('nodes.roadmap.retrieve', { id })
const loop = { engine: 'loop', exec: undefined } as const
const keyed = (idempotencyKey: string) => ownerContext({ idempotencyKey })

describe('promote', () => {
  it('makes an orchestrator with a roadmap of its goal', async () => {
    const node = await lifecycle.create({ prompt: 'move the house' })
    expect(await promote(node.id)).toMatchObject({ mode: 'orchestrator', kind: 'general', lifecycle: 'resident' })
    expect(await roadmapOf(node.id)).toMatchObject({
      version: 1,
      updated_by: 'owner',
      text: expect.stringContaining('## Goal\nmove the house'),
    })
    const promoted = (await lifecycle.recorded(node.id)).find(({ type }) => type === 'node.promoted')
    expect(promoted?.data).toMatchObject({ mode: 'orchestrator', roadmap_version: 1 })
  })

  it('takes a kind, a strength, a lifecycle and a roadmap', async () => {
    const root = await lifecycle.create()
    const node = await lifecycle.create({
      parent_id: root.id,
      ...loop,
      model: { strength: 'medium', override: 'mock/m' },
    })
    const body = { kind: 'plan', strength: 'light', resident: true, roadmap: '# mine' }
    const next = await promote(node.id, body)
    expect(next).toMatchObject({ kind: 'plan', lifecycle: 'resident' })
    expect(next.model).toEqual({ strength: 'light' })
    expect(await roadmapOf(node.id)).toMatchObject({ text: '# mine' })
  })

  it('tells an agent at work what it is now: its broker at once, itself by a notice', async () => {
    const { node, broker, assignment } = await lifecycle.running(loop)
    const heard = take(broker.signals(), (signal) => signal.type === 'changed' && signal.mode === 'orchestrator')
    await promote(node.id, { kind: 'plan' })
    expect((await heard).at(-1)).toMatchObject({ kind: 'plan' })
    expect(await broker.turn(1, assignment.mail)).toMatchObject({ next: 'continue' })
    const { mail } = await broker.claim()
    expect(mail).toMatchObject([{ kind: 'notice', tier: 'normal', body: expect.stringContaining('orchestrator') }])
  })

  it('wakes no agent that rests: it finds the word before its next message', async () => {
    const { node, broker, assignment } = await lifecycle.running(loop)
    await broker.turn(1, assignment.mail)
    expect(await promote(node.id)).toMatchObject({ status: 'idle' })
    await lifecycle.message(node.id, 'begin')
    const { assignment: next } = await lifecycle.bound(node.id, 2)
    expect(next).toMatchObject({ mode: 'orchestrator', mail: [{ kind: 'notice' }, { body: 'begin' }] })
  })

  it('by itself is no news to it', async () => {
    const { node, broker, assignment } = await lifecycle.running(loop)
    expect(await promote(node.id, {}, broker.ctx)).toMatchObject({ mode: 'orchestrator' })
    expect(await broker.turn(1, assignment.mail)).toMatchObject({ next: 'stop' })
    expect(await roadmapOf(node.id)).toMatchObject({ updated_by: `node:${node.id}` })
  })

  it('of an orchestrator is illegal and says what it is', async () => {
    const node = await lifecycle.create({ mode: 'orchestrator', prompt: 'lead' })
    expect(await roadmapOf(node.id)).toMatchObject({ version: 1, text: expect.stringContaining('lead') })
    expect(await failure(promote(node.id))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'orchestrator', event: 'promote' },
    })
  })

  it('repeated with its key is answered as the first time', async () => {
    const node = await lifecycle.create()
    const first = await promote(node.id, {}, keyed('p1'))
    expect(await promote(node.id, {}, keyed('p1'))).toEqual(first)
  })

  it('is refused for a strength that nothing serves, a canceled node, and one that the caller does not reach', async () => {
    const [node, other] = [await lifecycle.create(loop), await lifecycle.create()]
    expect(await failure(promote(node.id, { strength: 'strong' }))).toMatchObject({ code: 'model_not_configured' })
    expect(await failure(promote(node.id, {}, nodeContext(other.id)))).toMatchObject({ code: 'not_found' })
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect(await failure(promote(node.id))).toMatchObject({ code: 'illegal_transition', fields: { state: 'canceled' } })
    expect(await failure(roadmapOf(node.id))).toMatchObject({ code: 'not_found' })
  })
})

describe('demote', () => {
  it('of an agent that rests wakes it, and its next last words are its final report', async () => {
    const { node, broker, assignment } = await lifecycle.running(loop)
    await broker.turn(1, assignment.mail)
    expect(await demote(node.id)).toMatchObject({ lifecycle: 'terminal', status: 'active' })
    const { broker: second, assignment: next } = await lifecycle.bound(node.id, 2)
    expect(next).toMatchObject({ lifecycle: 'terminal', mail: [{ kind: 'notice' }] })
    await second.turn(2, next.mail, { final: 'the end' })
    expect(await lifecycle.outcome(node.id)).toMatchObject({ status: 'done', final_report: { body: 'the end' } })
    expect(await lifecycle.typesOf(node.id)).toContain('node.demoted')
  })

  it('of an agent at work is told to it and to its broker', async () => {
    const { node, broker, assignment } = await lifecycle.running(loop)
    const heard = take(broker.signals(), (signal) => signal.type === 'changed' && signal.lifecycle === 'terminal')
    await demote(node.id)
    await heard
    expect(await broker.turn(1, assignment.mail, { final: 'not yet' })).toMatchObject({ next: 'continue' })
    const { mail } = await broker.claim()
    await broker.turn(2, mail, { final: 'now' })
    expect(await lifecycle.outcome(node.id)).toMatchObject({ status: 'done', final_report: { body: 'now' } })
  })

  it('runs no program again that rests', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.turn(1, assignment.mail)
    expect(await demote(node.id)).toMatchObject({ lifecycle: 'terminal', status: 'idle' })
  })

  it('of a terminal node is illegal and says what it is', async () => {
    const node = await lifecycle.create({ lifecycle: 'terminal' })
    expect(await failure(demote(node.id))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'terminal', event: 'demote' },
    })
  })

  it('repeated with its key is answered as the first time', async () => {
    const node = await lifecycle.create()
    const first = await demote(node.id, keyed('d1'))
    expect(await demote(node.id, keyed('d1'))).toEqual(first)
  })
})
