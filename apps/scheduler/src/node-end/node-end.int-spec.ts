import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Cron } from '#common/contract/cron.schema.js'
import { newId } from '#common/kernel/ids.js'
import { nodeCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'
import { writeFire } from '../fire/fire.fixture.js'

let scheduler: SchedulerUnderTest
beforeAll(async () => {
  scheduler = await SchedulerUnderTest.start()
})
afterAll(() => scheduler.stop())

const hour = 3_600_000
const message = (node_id: string) => ({ type: 'message' as const, node_id, body: 'tick', tier: 'normal' as const })
const end = (
  node_id: string,
  how: 'canceled' | 'finalized' | 'pruned',
  { source_event = newId('evt'), ended_at = new Date(scheduler.clock.now()).toISOString() } = {},
) => scheduler.call('scheduler.node.ended', { source_event, node_id, how, ended_at })
const isThere = async ({ id }: Cron): Promise<boolean> =>
  (await scheduler.database.query('SELECT 1 FROM scheduler.crons WHERE id = $1', [id])).length > 0

interface Scene {
  readonly node: string
  readonly crons: Record<'own' | 'own once' | 'aimed at it' | 'aimed once' | "another's" | 'of one below', Cron>
}

const scene = async (): Promise<Scene> => {
  const node = scheduler.work.node()
  const [other, below] = [scheduler.work.node(), scheduler.work.node({ under: node })]
  const schedule = { at: new Date(scheduler.clock.now() + hour).toISOString() }
  return {
    node,
    crons: {
      own: await scheduler.create({ action: message(other) }, nodeCall(node)),
      'own once': await scheduler.create({ schedule, action: message(node) }, nodeCall(node)),
      'aimed at it': await scheduler.create({ action: message(node) }),
      'aimed once': await scheduler.create({ schedule, action: message(node) }, nodeCall(other)),
      "another's": await scheduler.create({ action: message(other) }, nodeCall(other)),
      'of one below': await scheduler.create({ action: message(below) }, nodeCall(below)),
    },
  }
}

const left = async ({ crons }: Scene): Promise<string[]> => {
  const there = await Promise.all(
    Object.entries(crons).map(async ([name, cron]) => ((await isThere(cron)) ? [name] : [])),
  )
  return there.flat()
}

describe('the end of a node', () => {
  it.each(['canceled', 'pruned'] as const)('%s: what it armed and what is aimed at it goes', async (how) => {
    const before = await scene()
    const { deleted } = await end(before.node, how)
    const { own, 'own once': once, 'aimed at it': aimed, 'aimed once': aimedOnce } = before.crons
    expect([...deleted].sort()).toEqual([own, once, aimed, aimedOnce].map(({ id }) => id).sort())
    expect(await left(before)).toEqual(["another's", 'of one below'])
  })

  it('finalized: only its own that fire once go', async () => {
    const before = await scene()
    expect(await end(before.node, 'finalized')).toEqual({ deleted: [before.crons['own once'].id] })
    expect(await left(before)).toEqual(['own', 'aimed at it', 'aimed once', "another's", 'of one below'])
    expect(await scheduler.create({ action: message(before.node) })).toMatchObject({ status: 'active' })
  })

  it('canceled: nothing is added that was asked for before; finalized: it is', async () => {
    const ended_at = new Date(scheduler.clock.now() + 60_000).toISOString()
    const [canceled, finalized] = [scheduler.work.node(), scheduler.work.node()]
    await end(canceled, 'canceled', { ended_at })
    await end(finalized, 'finalized', { ended_at })
    await expect(scheduler.create({ action: message(canceled) })).rejects.toMatchObject({ code: 'illegal_transition' })
    expect(await scheduler.create({ action: message(finalized) })).toMatchObject({ status: 'active' })
  })

  it('that is told late leaves what was armed since by a node that was brought back', async () => {
    const ended_at = new Date(scheduler.clock.now() - 1).toISOString()
    const before = await scene()
    for (const how of ['canceled', 'finalized'] as const) {
      expect(await end(before.node, how, { ended_at })).toEqual({ deleted: [] })
    }
    expect(await scheduler.create({}, nodeCall(before.node))).toMatchObject({ owner_node_id: before.node })
  })

  it('drops what waits for its turn, and leaves what was begun', async () => {
    const { node, crons } = await scene()
    const at = (n: number): Date => new Date(Date.parse(crons.own.created_at) - n * hour)
    await writeFire(scheduler, crons.own, { slot: at(2), status: 'running', fired_at: at(2) })
    await writeFire(scheduler, crons.own, { slot: at(1), status: 'queued' })
    await end(node, 'canceled')
    const lines = await scheduler.database.query(
      'SELECT status, cause FROM scheduler.fires WHERE cron_id = $1 ORDER BY slot',
      [crons.own.id],
    )
    expect(lines).toEqual([
      { status: 'running', cause: null },
      { status: 'canceled', cause: 'cron_ended' },
    ])
  })

  it('that is told again changes nothing, also of what came since', async () => {
    const before = await scene()
    const event = newId('evt')
    expect((await end(before.node, 'finalized', { source_event: event })).deleted).toHaveLength(1)
    const schedule = { at: new Date(scheduler.clock.now() + hour).toISOString() }
    const cron = await scheduler.create({ schedule, action: message(before.node) }, nodeCall(before.node))
    expect(await end(before.node, 'finalized', { source_event: event })).toEqual({ deleted: [] })
    expect(await isThere(cron)).toBe(true)
  })

  it('of one that nobody knows is nothing', async () => {
    expect(await end(newId('node'), 'pruned')).toEqual({ deleted: [] })
  })
})
