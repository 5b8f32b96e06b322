import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { JournalEntry } from '#common/contract/index.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { systemContext } from '#common/kernel/context.js'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import {
  LifecycleUnderTest,
  nodeContext,
  ownerContext,
  said,
  started,
} from '../../../../test/support/lifecycle-service.js'
import { agents } from './context.fixture.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

const { agent, bodies } = agents(() => lifecycle)
const fork = (id: string, more: Record<string, unknown> = {}, ctx = ownerContext()) =>
  lifecycle.call('nodes.fork', { id, ...more }, ctx)

/** At rest after two turns, in which it said `one` and `two`. */
const spoken = async (more: Parameters<typeof agent>[0] = {}) => {
  const { node, broker, assignment } = await agent(more)
  await broker.append(started(1, assignment.mail), said(1, 1, 'one'), {
    type: 'turn_ended',
    turn: 1,
    status: 'completed',
  })
  await lifecycle.message(node.id, 'and now?')
  const { broker: second, assignment: next } = await lifecycle.bound(node.id, 2)
  await second.append(started(2, next.mail), said(2, 1, 'two'), { type: 'turn_ended', turn: 2, status: 'completed' })
  return node
}

const saidIn = (journal: readonly { entry: JournalEntry }[]): string[] =>
  journal.flatMap(({ entry }) =>
    entry.type === 'message' ? entry.content.map((part) => ('text' in part ? part.text : '')) : [],
  )

describe('fork', () => {
  it('at a turn goes on from there, and is told whose copy it is', async () => {
    const source = await spoken({ prompt: 'count', name: 'counter' })
    const before = await lifecycle.retrieve(source.id)
    const copy = await fork(source.id, { turn: 1, prompt: 'count backwards' })
    expect(copy).toMatchObject({
      status: 'active',
      parent_id: null,
      root_id: copy.id,
      lifecycle: 'resident',
      forked_from: { node_id: source.id, turn: 1 },
      context: 1,
      usage: { input_tokens: 0 },
    })
    const { assignment, broker } = await lifecycle.bound(copy.id, 1)
    expect(saidIn(assignment.journal)).toEqual(['one'])
    expect(assignment).toMatchObject({ turn: 1, first_ord: 1, next_ord: 4, forked_from: { turn: 1 } })
    const [identity, prompt] = bodies(assignment.mail)
    expect(prompt).toBe('count backwards')
    // A fork once answered its source's parent, and ended its source's children.
    for (const part of [copy.id, 'copy of counter', source.id, 'turn 1', 'none of that is yours']) {
      expect(identity).toContain(part)
    }
    await broker.turn(2, assignment.mail)
    expect(await lifecycle.retrieve(source.id)).toEqual(before)
    for (const id of [source.id, copy.id]) expect(await lifecycle.typesOf(id)).toContain('node.forked')
  })

  it('without a turn takes the newest that has ended, and without a prompt rests until it is written to', async () => {
    const source = await spoken()
    const copy = await fork(source.id, { name: 'twin' })
    expect(copy).toMatchObject({ name: 'twin', status: 'idle', lifecycle: 'resident', forked_from: { turn: 2 } })
    expect(lifecycle.host.launchesOf(copy.id)).toEqual([])
    await lifecycle.message(copy.id, 'hello')
    const { assignment } = await lifecycle.bound(copy.id, 2)
    expect(saidIn(assignment.journal)).toEqual(['one', 'two'])
    expect(assignment.mail.map(({ kind }) => kind)).toEqual(['prompt', 'message'])
  })

  it('finds the mandate again in a fresh context', async () => {
    const source = await spoken({ prompt: 'the whole coast' })
    const copy = await fork(source.id, { prompt: 'only the north' })
    const { broker, assignment } = await lifecycle.bound(copy.id, 1)
    await broker.append(started(3, assignment.mail))
    await lifecycle.call('nodes.yield', { id: copy.id, note: 'n' })
    await broker.append({ type: 'turn_ended', turn: 3, status: 'completed' })
    const [kickoff] = bodies((await lifecycle.bound(copy.id, 2)).assignment.mail)
    for (const part of ['the whole coast', 'only the north', source.id]) expect(kickoff).toContain(part)
  })

  it('stands beside its source where the caller reaches that place, else below the caller', async () => {
    const { node: root } = await agent()
    const child = await spoken({ parent_id: root.id, lifecycle: 'resident' })
    expect(await fork(child.id)).toMatchObject({ parent_id: root.id, root_id: root.id })
    expect(await fork(child.id, { prompt: 'x' }, nodeContext(root.id))).toMatchObject({
      parent_id: root.id,
      lifecycle: 'terminal',
    })
    expect(await fork(child.id, {}, nodeContext(child.id))).toMatchObject({ parent_id: child.id })
    expect(await fork(child.id, { root: true })).toMatchObject({ parent_id: null })
    const { node: stranger } = await agent()
    expect(await failure(fork(child.id, {}, nodeContext(stranger.id)))).toMatchObject({ code: 'not_found' })
  })

  it('holds no more than its source and the caller', async () => {
    const source = await spoken({ scopes: ['svc:llm', 'svc:memory:rw:user'] })
    expect((await fork(source.id)).scopes).toEqual(['svc:llm', 'svc:memory:rw:user'])
    const narrow = nodeContext(source.id, 2, { scopes: ['svc:llm'] })
    expect((await fork(source.id, {}, narrow)).scopes).toEqual(['svc:llm'])
  })

  it('works inside of what its maker reaches, as what is created does', async () => {
    const scopes = ['svc:act', 'svc:files:rw:user:/tmp', 'svc:llm']
    const appId = newId('app')
    const grant = { app_id: appId, scopes, profiles: null, version: 1, status: 'active' }
    await lifecycle.call('lifecycle.grant.changed', { grants: [grant] }, systemContext('gateway'))
    const app = ownerContext({ actor: { kind: 'app', principal: `app:${appId}`, tokenId: 'tok_2', scopes, appId } })
    const root = await lifecycle.create({ lifecycle: 'resident', cwd: '/tmp' }, app)
    const [inside, outside] = [
      await spoken({ parent_id: root.id, lifecycle: 'resident', cwd: '/tmp' }),
      await spoken({ parent_id: root.id, lifecycle: 'resident', cwd: '/var/tmp' }),
    ]
    expect(await fork(inside.id, {}, app)).toMatchObject({ app_id: appId, cwd: '/tmp' })
    expect((await failure(fork(outside.id, {}, app))).code).toBe('path_outside_scope')

    const { node: asker } = await agent({ cwd: '/tmp', scopes: [...scopes, 'svc:files:rw:user:/var/tmp'] })
    const child = await spoken({ parent_id: asker.id, lifecycle: 'resident', cwd: '/var/tmp' })
    // it was granted the directory when it was made, and is not any more
    const narrowed = nodeContext(asker.id, 1, { scopes: ['svc:act', 'svc:llm'] })
    expect((await failure(fork(child.id, {}, narrowed))).code).toBe('path_outside_scope')
  })

  it('answers a turn that is not there with 404, one that has not ended or is closed with 422', async () => {
    const { node, broker, assignment } = await agent()
    await broker.append(started(1, assignment.mail))
    expect(await failure(fork(node.id))).toMatchObject({ code: 'validation_failed' })
    expect(await failure(fork(node.id, { turn: 1 }))).toMatchObject({ code: 'validation_failed' })
    expect(await failure(fork(node.id, { turn: 2 }))).toMatchObject({ code: 'not_found', fields: { resource: 'turn' } })
    await lifecycle.call('nodes.yield', { id: node.id, note: 'n' })
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    await lifecycle.bound(node.id, 2)
    expect(await failure(fork(node.id, { turn: 1 }))).toMatchObject({ code: 'validation_failed' })
  })

  it('is refused for a program, for a terminal copy without work, and where a parent has no room', async () => {
    const program = await lifecycle.create()
    expect(await failure(fork(program.id))).toMatchObject({ code: 'validation_failed' })
    const source = await spoken()
    expect(await failure(fork(source.id, { lifecycle: 'terminal' }))).toMatchObject({ code: 'validation_failed' })
    const { node: gone } = await agent()
    await lifecycle.call('nodes.cancel', { id: gone.id })
    expect(await failure(fork(source.id, { parent_id: gone.id }))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'canceled', event: 'spawn' },
    })
  })

  it('of a node that has ended works, and with one key makes one copy', async () => {
    const source = await spoken()
    await lifecycle.call('nodes.cancel', { id: source.id })
    const ctx = ownerContext({ idempotencyKey: `fork-${source.id}` })
    const copy = await fork(source.id, {}, ctx)
    expect(await fork(source.id, {}, ctx)).toEqual(copy)
  })

  it('is neither counted nor found as work of its own', async () => {
    const word = `w${lifecycle.host.hostId.replaceAll('-', '')}`
    const { node, broker, assignment } = await agent()
    await broker.append(started(1, assignment.mail), said(1, 1, `the word is ${word}`), {
      type: 'turn_ended',
      turn: 1,
      status: 'completed',
    })
    const copy = await fork(node.id)
    const found = async () => (await lifecycle.call('canvas.history.search', { query: word, limit: 10 })).hits
    await waitFor(async () => (await found()).length > 0)
    await lifecycle.message(copy.id, 'say it again')
    const { broker: second, assignment: given } = await lifecycle.bound(copy.id, 2)
    await second.append(started(2, given.mail), said(2, 1, `again: ${word}`), {
      type: 'turn_ended',
      turn: 2,
      status: 'completed',
    })
    await waitFor(async () => (await found()).length > 1)
    const hits = await found()
    expect(hits.map(({ node_id }) => node_id).sort()).toEqual([node.id, copy.id].sort())
    const rows = await lifecycle.database.query<{ turns: string }>(
      'SELECT sum(turns) AS turns FROM canvas.activity WHERE node_id = $1',
      [copy.id],
    )
    expect(Number(rows[0]?.turns)).toBe(1)
  })
})
