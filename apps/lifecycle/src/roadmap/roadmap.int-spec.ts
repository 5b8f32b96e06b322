import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { careLimits } from '#common/contract/node-care.schema.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { Database } from '#common/kernel/database/database.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'
import { agents } from '../context/context.fixture.js'
import { RoadmapRepository } from './roadmap.repository.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const read = (id: string, version?: number, ctx = ownerContext()) =>
  lifecycle.call('nodes.roadmap.retrieve', { id, ...(version && { version }) }, ctx)
const write = (id: string, text: string, more: Record<string, unknown> = {}, ctx = ownerContext()) =>
  lifecycle.call('nodes.roadmap.write', { id, text, ...more }, ctx)
const orchestrator = (more = {}) => lifecycle.create({ mode: 'orchestrator', ...more })

describe('the roadmap', () => {
  it('is written by its node, by whoever stands above it, and by the owner; each write is a version', async () => {
    const root = await lifecycle.create()
    const node = await orchestrator({ parent_id: root.id })
    expect(await write(node.id, 'mine', {}, nodeContext(node.id))).toMatchObject({
      version: 2,
      updated_by: `node:${node.id}`,
    })
    expect(await write(node.id, 'of the parent', {}, nodeContext(root.id))).toMatchObject({ version: 3 })
    expect(await write(node.id, 'of the owner')).toMatchObject({ version: 4, updated_by: 'owner' })
    expect(await read(node.id, undefined, nodeContext(node.id))).toMatchObject({ version: 4, text: 'of the owner' })
    expect(await read(node.id, 2)).toMatchObject({ text: 'mine' })
    const changes = (await lifecycle.recorded(node.id)).filter(({ type }) => type === 'roadmap.changed')
    expect(changes.map(({ data }) => data.version)).toEqual([1, 2, 3, 4])
    const database = lifecycle.service.app.get(Database)
    expect(await lifecycle.service.app.get(RoadmapRepository).find(database, node.id)).toMatchObject({ version: 4 })
  })

  it('by another version than the present one is refused, and names that', async () => {
    const node = await orchestrator()
    await write(node.id, 'two', { if_match: 1 })
    expect(await failure(write(node.id, 'also two', { if_match: 1 }))).toMatchObject({
      code: 'precondition_failed',
      fields: { version: 2 },
    })
    expect(await write(node.id, 'two', { if_match: 1 })).toMatchObject({ version: 2 })
  })

  it('that somebody else wrote is told to its keeper, which is not woken for it', async () => {
    const { node, broker, assignment } = await lifecycle.running({
      engine: 'loop',
      exec: undefined,
      mode: 'orchestrator',
    })
    await broker.turn(1, assignment.mail)
    await write(node.id, 'other', {}, nodeContext(node.id))
    await write(node.id, 'by the owner')
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle' })
    await lifecycle.message(node.id, 'go on')
    const { assignment: next } = await lifecycle.bound(node.id, 2)
    expect(next.mail).toMatchObject([{ body: expect.stringContaining('changed by owner: it is version 3') }, {}])
  })

  it('keeps its last versions only', async () => {
    const node = await orchestrator()
    for (let at = 0; at < careLimits.roadmapRevisions; at += 1) await write(node.id, `version ${at}`)
    expect(await failure(read(node.id, 1))).toMatchObject({ code: 'not_found' })
    expect(await read(node.id, 2)).toMatchObject({ text: 'version 0' })
  })

  it('is not there for a node that is no orchestrator', async () => {
    const node = await lifecycle.create()
    expect(await failure(read(node.id))).toMatchObject({ code: 'not_found', fields: { resource: 'roadmap' } })
    expect(await failure(write(node.id, 'x'))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'base', event: 'write_roadmap' },
    })
  })

  it('is out of reach for siblings and those below', async () => {
    const root = await lifecycle.create()
    const [node, sibling] = [await orchestrator({ parent_id: root.id }), await lifecycle.create({ parent_id: root.id })]
    const child = await lifecycle.create({ parent_id: node.id })
    for (const ctx of [nodeContext(sibling.id), nodeContext(child.id)]) {
      expect(await failure(read(node.id, undefined, ctx))).toMatchObject({ code: 'not_found' })
      expect(await failure(write(node.id, 'x', {}, ctx))).toMatchObject({ code: 'not_found' })
    }
  })
})

describe('the roadmap of an agent', () => {
  const { resting, bodies } = agents(() => lifecycle)
  const plan = '# the plan that was written'
  const planned = async () => {
    const made = await resting({ mode: 'orchestrator', prompt: 'lead' })
    await write(made.node.id, plan, {}, nodeContext(made.node.id))
    return made.node
  }

  // Fault 15: a node that was brought back fresh once knew nothing of what it was for.
  it('is told to it at the beginning of each fresh context', async () => {
    const node = await planned()
    await lifecycle.call('nodes.revive', { id: node.id, mode: 'fresh' })
    expect(bodies((await lifecycle.bound(node.id, 2)).assignment.mail)[0]).toContain(plan)
  })

  it('goes with its fork, and each keeps its own from then on', async () => {
    const node = await planned()
    const fork = await lifecycle.call('nodes.fork', { id: node.id })
    expect(await read(fork.id)).toMatchObject({ version: 1, text: plan })
    await write(fork.id, 'another')
    expect(await read(node.id)).toMatchObject({ text: plan })
  })

  it('goes to the root that takes its place', async () => {
    const node = await planned()
    const { node: next } = await lifecycle.call('nodes.recycle', { id: node.id })
    expect(await read(next.id)).toMatchObject({ version: 1, text: plan })
    expect(bodies((await lifecycle.bound(next.id)).assignment.mail)[0]).toContain(plan)
  })
})
