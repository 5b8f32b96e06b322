import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { contract, type InputOf } from '#common/contract/index.js'
import { Database } from '#common/kernel/database/database.js'
import { SvcError } from '#common/kernel/errors.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'

const ended = contract['scheduler.node.ended']
const succeeded = contract['scheduler.node.succeeded']
const watcherEnded = contract['objects.node.ended']
const watcherSucceeded = contract['objects.node.succeeded']
type Ended = InputOf<typeof ended>
type Succeeded = InputOf<typeof succeeded>

let lifecycle: LifecycleUnderTest
let scheduler: TestPeer | undefined
let objects: TestPeer | undefined
let told: Ended[] = []
let followed: Succeeded[] = []
/** The same, as those are told who keep watches. */
let toldObjects: (Ended | Succeeded)[] = []

const joinScheduler = async (refuse?: () => SvcError): Promise<void> => {
  scheduler = await joinBus(lifecycle.nats, 'scheduler', {
    operations: [ended, succeeded],
    handlers: {
      [ended.name]: async (_ctx: unknown, input: Ended) => {
        told.push(input)
        if (refuse) throw refuse()
        return { deleted: [] }
      },
      [succeeded.name]: async (_ctx: unknown, input: Succeeded) => {
        followed.push(input)
        return { moved: [], deleted: [] }
      },
    } as never,
  })
}
const joinObjects = async (): Promise<void> => {
  objects = await joinBus(lifecycle.nats, 'objects', {
    operations: [watcherEnded, watcherSucceeded],
    handlers: {
      [watcherEnded.name]: async (_ctx: unknown, input: Ended) => {
        toldObjects.push(input)
        return { removed: 0 }
      },
      [watcherSucceeded.name]: async (_ctx: unknown, input: Succeeded) => {
        toldObjects.push(input)
        return { moved: 0 }
      },
    } as never,
  })
}
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
beforeEach(joinObjects)
afterEach(async () => {
  await Promise.all([scheduler?.close(), objects?.close()])
  scheduler = undefined
  objects = undefined
  told = []
  followed = []
  toldObjects = []
})
afterAll(() => lifecycle.stop())

const rows = <T>(sql: string, values: unknown[] = []) => lifecycle.service.app.get(Database).query<T>(sql, values)
const waiting = () => rows("SELECT key FROM canvas.outbox WHERE acknowledged_at IS NULL AND target = 'scheduler'")
const allTold = () =>
  waitFor(async () => (await rows('SELECT 1 FROM canvas.outbox WHERE acknowledged_at IS NULL')).length === 0, {
    what: 'all ends to be told',
    timeout: 15_000,
  })
const hows = () => told.map(({ node_id, how }) => `${node_id} ${how}`).sort()

describe('the end of a node', () => {
  it('is told to the scheduler for each node that a cancel ends, and for none that it spares', async () => {
    await joinScheduler()
    const root = await lifecycle.create({ name: 'root' })
    const child = await lifecycle.create({ parent_id: root.id, name: 'child' })
    const leaf = await lifecycle.create({ parent_id: child.id, name: 'leaf' })
    const watched = await lifecycle.create({ parent_id: root.id, name: 'watched' })
    const watcher = await lifecycle.create({ name: 'watcher' })
    await lifecycle.call('canvas.subscriptions.put', { subscriber: watcher.id, publisher: watched.id, mode: 'active' })

    await lifecycle.call('nodes.cancel', { id: root.id })

    await allTold()
    expect(hows()).toEqual([root, child, leaf].map(({ id }) => `${id} canceled`).sort())
    const after = await lifecycle.retrieve(root.id)
    const message = told.find(({ node_id }) => node_id === root.id)
    expect(message).toMatchObject({ ended_at: after.updated_at, source_event: expect.stringContaining(root.id) })
    expect(new Set(told.map(({ source_event }) => source_event)).size).toBe(3)
  })

  it('is told when its work was done, at each engagement, and not when it died', async () => {
    await joinScheduler()
    const { node, broker } = await lifecycle.running()
    await broker.push('final', 'done')
    await lifecycle.message(node.id, 'more')
    const { broker: second } = await lifecycle.bound(node.id, 2)
    await second.push('final', 'done again')
    const { node: dying, broker: failing } = await lifecycle.running()
    await failing.append({ type: 'turn_started', turn: 1, mail: [], content: [{ type: 'text', text: 'go' }] })
    await failing.append({
      type: 'turn_ended',
      turn: 1,
      status: 'failed',
      fault: { kind: 'model_not_found', message: 'no such model' },
    } as never)
    await lifecycle.until(dying.id, 'dead')

    await allTold()
    expect(hows()).toEqual([`${node.id} finalized`, `${node.id} finalized`])
  })

  it('is told when it is deleted, all of one transaction by one statement', async () => {
    await joinScheduler()
    const nodes = await Promise.all(Array.from({ length: 5 }, () => lifecycle.create()))
    const ids = nodes.map(({ id }) => id)
    await rows(
      `UPDATE canvas.nodes SET status = 'done', intent = NULL, broker_state = NULL,
         updated_at = now() - interval '30 days', created_at = created_at - interval '31 days' WHERE id = ANY ($1)`,
      [ids],
    )
    const pruned = await lifecycle.call('canvas.prune', { older_than: 'P14D', dry_run: false, statuses: ['done'] })
    expect(pruned.nodes).toBe(5)
    await allTold()
    expect(hows()).toEqual(ids.map((id) => `${id} pruned`).sort())
    const made = await rows<{ at: Date }>('SELECT DISTINCT created_at AS at FROM canvas.outbox WHERE key LIKE $1', [
      'scheduler.node.ended:%:pruned:%',
    ])
    expect(made).toHaveLength(1)
  })

  it('is told to those who keep watches as it is to those who keep schedules', async () => {
    await joinScheduler()
    const { node } = await lifecycle.running({ lifecycle: 'resident' })
    const { node: next } = await lifecycle.call('nodes.recycle', { id: node.id })
    await lifecycle.call('nodes.cancel', { id: next.id })
    await allTold()
    const keyless = (all: readonly (Ended | Succeeded)[]) => all.map(({ source_event: _, ...rest }) => rest)
    expect(keyless(toldObjects)).toEqual(expect.arrayContaining(keyless([...told, ...followed])))
    expect(toldObjects).toHaveLength(2)
  })

  it('waits for either alone: what one of them has not taken holds up nothing for the other', async () => {
    const { id } = await lifecycle.create()
    await lifecycle.call('nodes.cancel', { id })
    await waitFor(() => toldObjects.length === 1, { what: 'those who keep watches to be told' })
    expect(await waiting()).toHaveLength(1)
    await joinScheduler()
    await allTold()
    expect(hows()).toEqual([`${id} canceled`])
  })

  it('is not told of a recycled root, whose work goes on: who follows it is', async () => {
    await joinScheduler()
    const { node } = await lifecycle.running({ lifecycle: 'resident' })
    const { node: next } = await lifecycle.call('nodes.recycle', { id: node.id })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'done' })
    await allTold()
    expect(hows()).toEqual([])
    expect(followed).toMatchObject([{ from: node.id, to: next.id }])
  })

  it('waits with who follows a root, from the transaction on in which that takes its place', async () => {
    const { node } = await lifecycle.running({ lifecycle: 'resident' })
    const { node: next } = await lifecycle.call('nodes.recycle', { id: node.id })
    expect(await waiting()).toEqual([{ key: `scheduler.node.succeeded:${node.id}:${next.id}` }])
    await joinScheduler()
    await allTold()
    expect(followed).toMatchObject([{ from: node.id, to: next.id }])
  })

  it('is told of all below a relaunched root and not of that: who follows it is, once it has taken its place', async () => {
    await joinScheduler()
    const { node } = await lifecycle.running({ lifecycle: 'resident' })
    const child = await lifecycle.create({ parent_id: node.id })
    const { node: next } = await lifecycle.call('nodes.relaunchRoot', { id: node.id })
    expect(followed).toEqual([])
    await lifecycle.bound(next.id)
    await waitFor(() => followed.length > 0, { what: 'word of who follows' })
    await allTold()
    expect(hows()).toEqual([`${child.id} canceled`])
    expect(followed).toMatchObject([{ from: node.id, to: next.id }])
  })

  it('is not told by what was refused', async () => {
    await joinScheduler()
    const { id } = await lifecycle.create()
    await lifecycle.call('nodes.cancel', { id })
    await expect(lifecycle.call('nodes.cancel', { id })).rejects.toMatchObject({ code: 'illegal_transition' })
    await allTold()
    expect(hows()).toEqual([`${id} canceled`])
  })

  it('waits for a scheduler that is away, over a change of the leader too', async () => {
    const { id } = await lifecycle.create()
    await lifecycle.call('nodes.cancel', { id })
    await waitFor(
      async () =>
        (await rows('SELECT 1 FROM canvas.outbox WHERE attempts > 0 AND acknowledged_at IS NULL')).length === 1,
    )
    await lifecycle.stopService()
    await lifecycle.another()
    await waitFor(async () => (await waiting()).length === 1)
    await joinScheduler()
    await allTold()
    expect(hows()).toEqual([`${id} canceled`])
  })

  it('is dropped and logged when the scheduler can never take it', async () => {
    await joinScheduler(() => new SvcError('validation_failed'))
    const { id } = await lifecycle.create()
    await lifecycle.call('nodes.cancel', { id })
    await allTold()
    expect(told).toHaveLength(1)
    expect(lifecycle.logged.some((line) => line.includes('refused for good') && line.includes(id))).toBe(true)
  })
})
