import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Cron } from '#common/contract/cron.schema.js'
import type { contract, InputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'
import { nodeCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'

type Action = InputOf<(typeof contract)['crons.create']>['action']

/** Both services as they are, on one bus. */
let [lifecycle, scheduler] = [] as unknown as [LifecycleUnderTest, SchedulerUnderTest]
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  scheduler = await SchedulerUnderTest.start({ played: false })
})
afterAll(async () => {
  await scheduler.stop()
  await lifecycle.stop()
})

const hour = 3_600_000
const message = (node_id: string): Action => ({ type: 'message', node_id, body: 'tick', tier: 'normal' })
const newNode = (more: object = {}): Action => ({
  type: 'create_node',
  prompt: 'go',
  engine: 'exec',
  exec: { argv: ['true'], stdin: 'jsonl' },
  cwd: '/tmp',
  ...more,
})
const narrow = (id: string): Context => nodeCall(id, { scopes: ['svc:schedule'] })
const stored = async (): Promise<string[]> =>
  (await scheduler.database.query<{ id: string }>('SELECT id FROM scheduler.crons ORDER BY id')).map(({ id }) => id)
const gone = (crons: Cron[]): Promise<true> =>
  waitFor(
    async () => {
      const there = await stored()
      return crons.every(({ id }) => !there.includes(id))
    },
    { what: 'the schedules to go' },
  )

describe('who may arm what', () => {
  it('a node itself, with the scope for schedules alone', async () => {
    const [{ id }, other] = [await lifecycle.create(), await lifecycle.create()]
    expect(await scheduler.create({ action: message(id) }, narrow(id))).toMatchObject({ owner_node_id: id })
    const before = await stored()
    for (const action of [message(other.id), newNode(), { type: 'bash', cwd: '/tmp', command: 'ls' } as Action]) {
      await expect(scheduler.create({ action }, narrow(id))).rejects.toMatchObject({
        code: 'scope_missing',
        fields: { scope: 'svc:act' },
      })
    }
    expect(await stored()).toEqual(before)
  })

  it('nothing for a node that does not exist, or stands in another tree', async () => {
    const [{ id }, other] = [await lifecycle.create(), await lifecycle.create()]
    const before = await stored()
    const missing = newId('node')
    await expect(scheduler.create({ action: message(missing) })).rejects.toMatchObject({ code: 'not_found' })
    for (const target of [missing, other.id]) {
      await expect(scheduler.create({ action: message(target) }, nodeCall(id))).rejects.toMatchObject({
        code: 'not_found',
        message: `There is no node ${target}.`,
      })
      const owner_node_id = target
      await expect(scheduler.create({ owner_node_id, action: message(id) }, nodeCall(id))).rejects.toMatchObject({
        code: 'not_found',
        message: `There is no node ${target}.`,
      })
    }
    expect(await stored()).toEqual(before)
  })

  it('nothing outside its ceiling', async () => {
    const { id } = await lifecycle.create()
    const before = await stored()
    const scopes = ['svc:objects:read:app:other']
    await expect(scheduler.create({ action: newNode({ scopes }) }, nodeCall(id))).rejects.toMatchObject({
      code: 'scope_exceeds_ceiling',
    })
    await expect(scheduler.create({ action: newNode({ cwd: '/root' }) }, nodeCall(id))).rejects.toMatchObject({
      code: 'path_outside_scope',
    })
    expect(await stored()).toEqual(before)
  })

  it('one above for one below, which it then belongs to', async () => {
    const root = await lifecycle.create()
    const child = await lifecycle.create({ parent_id: root.id })
    const cron = await scheduler.create({ owner_node_id: child.id, action: message(child.id) }, nodeCall(root.id))
    expect(cron).toMatchObject({ owner_node_id: child.id, created_by: { kind: 'node', id: root.id } })
    expect(await scheduler.retrieve(cron.id, nodeCall(root.id))).toEqual(cron)
    const upwards = scheduler.create({ owner_node_id: root.id, action: message(child.id) }, nodeCall(child.id))
    await expect(upwards).rejects.toMatchObject({ code: 'not_found' })
  })

  it('nothing for a node that was canceled', async () => {
    const { id } = await lifecycle.create()
    await lifecycle.call('nodes.cancel', { id })
    await expect(scheduler.create({ owner_node_id: id, action: message(id) })).rejects.toMatchObject({
      code: 'illegal_transition',
    })
  })
})

describe('what goes with a node', () => {
  const once = () => ({ at: new Date(scheduler.clock.now() + hour).toISOString() })

  it('is, when it is canceled, all that its tree armed and all that is aimed at it', async () => {
    const [root, other] = [await lifecycle.create(), await lifecycle.create()]
    const child = await lifecycle.create({ parent_id: root.id })
    const theirs = [
      await scheduler.create({ action: message(root.id) }, nodeCall(root.id)),
      await scheduler.create({ action: message(root.id) }, nodeCall(child.id)),
      await scheduler.create({ action: message(child.id) }),
    ]
    const kept = await scheduler.create({ action: message(other.id) })
    await lifecycle.call('nodes.cancel', { id: root.id })
    await gone(theirs)
    expect(await stored()).toContain(kept.id)
  })

  it('is, when it has done its work, what it armed to fire once', async () => {
    const { node, broker } = await lifecycle.running({ lifecycle: 'terminal' })
    const own = await scheduler.create({ schedule: once(), action: message(node.id) }, nodeCall(node.id))
    const [again, aimed] = [
      await scheduler.create({ action: message(node.id) }, nodeCall(node.id)),
      await scheduler.create({ schedule: once(), action: message(node.id) }),
    ]
    await broker.turn(1, (await broker.claim()).mail)
    await broker.push('final', 'done')
    await lifecycle.until(node.id, 'done')
    await gone([own])
    expect(await stored()).toEqual(expect.arrayContaining([again.id, aimed.id]))
  })

  it('is, when it is pruned, what it armed and what is aimed at it', async () => {
    const { node, broker } = await lifecycle.running({ lifecycle: 'terminal' })
    const theirs = [
      await scheduler.create({ action: message(node.id) }, nodeCall(node.id)),
      await scheduler.create({ action: message(node.id) }),
    ]
    await broker.turn(1, (await broker.claim()).mail)
    await broker.push('final', 'done')
    await lifecycle.until(node.id, 'done')
    const statuses = ['done', 'dead', 'canceled']
    await lifecycle.call('canvas.prune', { older_than: 0, dry_run: false, statuses })
    await gone(theirs)
    expect(await lifecycle.retrieve(node.id).catch(({ code }) => code)).toBe('not_found')
  })
})

describe('what follows a root to the one that takes its place', () => {
  const taken = (crons: Cron[], root: string): Promise<true> =>
    waitFor(
      async () => {
        const seen = await scheduler.call('crons.list', { node_id: root, limit: 50 } as never, nodeCall(root))
        return crons.every(({ id }) => seen.data.some((cron) => cron.id === id))
      },
      { what: 'the schedules to follow' },
    )

  it.each(['nodes.recycle', 'nodes.relaunchRoot'] as const)(
    '%s: all that it armed, which acts as the new one and leaves the old one alone',
    async (operation) => {
      const { node } = await lifecycle.running({
        lifecycle: 'resident',
        scopes: ['svc:act', 'svc:llm', 'svc:schedule'],
      })
      const schedule = { at: new Date(scheduler.clock.now() + hour).toISOString() }
      const own = [
        await scheduler.create({ action: message(node.id) }, nodeCall(node.id)),
        await scheduler.create({ schedule, action: message(node.id) }, nodeCall(node.id)),
      ]
      const { node: next } = await lifecycle.call(operation, { id: node.id })
      await lifecycle.bound(next.id)
      await taken(own, next.id)
      const { id } = own[0] as Cron
      await expect(scheduler.retrieve(id, nodeCall(node.id))).rejects.toMatchObject({ code: 'not_found' })
      await scheduler.call('crons.run', { id })
      await scheduler.until(id, 'running')
      const [fire] = await scheduler.fires(id)
      expect(fire).toMatchObject({ node_id: next.id })
      expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'done' })
    },
  )

  it('are, of a child that works on for the new root, what it armed: the new root sees it, the old one does not', async () => {
    const { node } = await lifecycle.running({ lifecycle: 'resident' })
    const child = await lifecycle.create({ parent_id: node.id })
    const cron = await scheduler.create({ action: message(child.id) }, nodeCall(child.id))
    const { node: next } = await lifecycle.call('nodes.recycle', { id: node.id })
    await waitFor(
      () =>
        scheduler
          .retrieve(cron.id, nodeCall(next.id))
          .then(() => true)
          .catch(() => false),
      {
        what: 'the new root to see it',
      },
    )
    await expect(scheduler.retrieve(cron.id, nodeCall(node.id))).rejects.toMatchObject({ code: 'not_found' })
    expect(await scheduler.retrieve(cron.id, nodeCall(child.id))).toMatchObject({ owner_node_id: child.id, version: 2 })
  })
})
