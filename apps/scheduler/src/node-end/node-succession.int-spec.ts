import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Cron } from '#common/contract/cron.schema.js'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import { nodeCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'
import type { CronRecord } from '../cron/cron.record.js'
import { writeFire } from '../fire/fire.fixture.js'

let scheduler: SchedulerUnderTest
beforeAll(async () => {
  scheduler = await SchedulerUnderTest.start()
})
afterAll(() => scheduler.stop())

const hour = 3_600_000
const message = (node_id: string) => ({ type: 'message' as const, node_id, body: 'tick', tier: 'normal' as const })
const made = (more: object = {}) => ({ type: 'create_node' as const, prompt: 'go', ...more }) as never
const at = (ms = 0): string => new Date(scheduler.clock.now() + ms).toISOString()
const succeeded = (from: string, to: string, more: { at?: string; source_event?: string } = {}) =>
  scheduler.call('scheduler.node.succeeded', { source_event: newId('evt'), from, to, at: at(), ...more })
const ended = (node_id: string, how: 'canceled' | 'finalized', ended_at = at()) =>
  scheduler.call('scheduler.node.ended', { source_event: newId('evt'), node_id, how, ended_at })
const row = async ({ id }: Cron): Promise<CronRecord | undefined> => {
  const [found] = await scheduler.database.query<CronRecord>('SELECT * FROM scheduler.crons WHERE id = $1', [id])
  return found
}
const once = () => ({ at: at(hour) })

const scene = async () => {
  const [from, to] = [scheduler.work.node(), scheduler.work.node()]
  const child = scheduler.work.node({ under: from })
  return {
    from,
    to,
    child,
    own: await scheduler.create({ action: message(from) }, nodeCall(from)),
    once: await scheduler.create({ schedule: once(), action: message(from) }, nodeCall(from)),
    makes: await scheduler.create({ action: made({ parent_id: from }) }, nodeCall(from)),
    below: await scheduler.create({ action: message(child) }, nodeCall(child)),
    aimed: await scheduler.create({ action: message(from) }),
    under: await scheduler.create({ action: made({ parent_id: from }) }),
    other: await scheduler.create({ action: message(scheduler.work.node()) }),
  }
}

describe('a root that gives its place to another', () => {
  it('gives it its schedules, those aimed at it and those of nodes below', async () => {
    const { from, to, child, ...crons } = await scene()
    const before = await row(crons.other)
    const { moved, deleted } = await succeeded(from, to)
    const { own, makes, below, aimed, under } = crons
    expect([...moved].sort()).toEqual([own, crons.once, makes, below, aimed, under].map(({ id }) => id).sort())
    expect(deleted).toEqual([])
    for (const cron of [own, crons.once]) {
      expect(await row(cron)).toMatchObject({
        owner_node_id: to,
        owner_path: [to],
        target_node_id: to,
        action: { node_id: to },
        authority: {
          kind: 'node',
          principal: `node:${to}`,
          node_id: to,
          scopes: ['svc:act', 'svc:llm', 'svc:schedule'],
        },
        created_by: { id: from },
        version: 2,
        next_slot: expect.any(Date),
      })
    }
    expect(await row(makes)).toMatchObject({ owner_node_id: to, action: { parent_id: to } })
    expect(await row(below)).toMatchObject({
      owner_node_id: child,
      owner_path: [child, to],
      action: { node_id: child },
    })
    expect(await row(below)).toMatchObject({ authority: { principal: `node:${child}`, node_id: child } })
    expect(await row(aimed)).toMatchObject({ owner_node_id: null, target_node_id: to, authority: { kind: 'owner' } })
    expect(await row(under)).toMatchObject({ action: { parent_id: to } })
    expect(await row(crons.other)).toEqual(before)
  })

  it('sees and changes none of them any more: the new one does', async () => {
    const { from, to, own, below } = await scene()
    await succeeded(from, to)
    for (const { id } of [own, below]) {
      await expect(scheduler.retrieve(id, nodeCall(from))).rejects.toMatchObject({ code: 'not_found' })
      await expect(scheduler.call('crons.pause', { id }, nodeCall(from))).rejects.toMatchObject({ code: 'not_found' })
      expect(await scheduler.call('crons.pause', { id }, nodeCall(to))).toMatchObject({ status: 'paused' })
    }
  })

  it('gives it what became of them, also of those that are gone', async () => {
    const { from, to, child, own, below } = await scene()
    const slot = new Date(scheduler.clock.now() - hour)
    const missed = { slot, status: 'missed', cause: 'window', ledger: 'omitted' } as const
    await writeFire(scheduler, own, missed)
    await writeFire(scheduler, { ...own, id: newId('cron') }, missed)
    await writeFire(scheduler, below, { ...missed, owner_path: [child, from] })
    await writeFire(scheduler, own, { slot: new Date(slot.getTime() + 1), status: 'running', fired_at: slot })
    const of = async (node: string) =>
      (await scheduler.call('scheduler.ledger.read', { limit: 50 } as never, nodeCall(node))) as { data?: unknown[] }
    expect(JSON.stringify(await of(from))).toContain(own.id)
    await succeeded(from, to)
    expect(JSON.stringify(await of(from))).not.toContain('cron_')
    expect(JSON.stringify(await of(to))).toContain(own.id)
    expect(JSON.stringify(await of(to))).toContain(below.id)
    const left = await scheduler.database.query('SELECT 1 FROM scheduler.fires WHERE owner_path @> ARRAY[$1]::text[]', [
      from,
    ])
    expect(left).toEqual([])
  })

  it('fires no more: the work is that of the new one', async () => {
    const { from, to, own } = await scene()
    await succeeded(from, to)
    await scheduler.call('crons.run', { id: own.id })
    await waitFor(() => scheduler.work.starts.some(({ key }) => key.startsWith(own.id)), { what: 'the firing' })
    expect(scheduler.work.starts.filter(({ key }) => key.startsWith(own.id))).toMatchObject([
      { by: { node_id: to, principal: `node:${to}` }, action: { node_id: to } },
    ])
  })

  it('keeps the name under which a machine knows a command that is under way', async () => {
    const [from, to] = [scheduler.work.node(), scheduler.work.node()]
    const action = { type: 'bash' as const, cwd: '/tmp', command: 'ls', timeout: 60 }
    const [begun, idle] = [
      await scheduler.create({ action }, nodeCall(from)),
      await scheduler.create({ action }, nodeCall(from)),
    ]
    const slot = new Date(scheduler.clock.now() - 1)
    await writeFire(scheduler, begun, { slot, status: 'running', fired_at: slot })
    await succeeded(from, to)
    expect(await row(begun)).toMatchObject({ authority: { principal: `node:${from}`, node_id: to } })
    expect(await row(idle)).toMatchObject({ authority: { principal: `node:${to}`, node_id: to } })
  })

  it('is told once: what the old one arms when it is brought back is its own', async () => {
    const { from, to, own } = await scene()
    const event = { source_event: newId('evt'), at: at() }
    await succeeded(from, to, event)
    scheduler.clock.advance(1000)
    const later = await scheduler.create({ action: message(from) }, nodeCall(from))
    expect(await succeeded(from, to, event)).toEqual({ moved: [], deleted: [] })
    expect(await succeeded(from, to, { at: event.at })).toEqual({ moved: [], deleted: [] })
    expect(await row(later)).toMatchObject({ owner_node_id: from, version: 1 })
    expect(await row(own)).toMatchObject({ owner_node_id: to, version: 2 })
  })

  it('takes nothing in that was asked for before, by it or by one below', async () => {
    const { from, to, child } = await scene()
    await succeeded(from, to, { at: at(60_000) })
    for (const node of [from, child]) {
      await expect(scheduler.create({ action: message(node) }, nodeCall(node))).rejects.toMatchObject({
        code: 'illegal_transition',
      })
    }
    await expect(scheduler.create({ action: message(from) })).rejects.toMatchObject({ code: 'illegal_transition' })
  })

  it('has a schedule that gave up stand at the new one', async () => {
    const { from, to, own } = await scene()
    await scheduler.database.query(
      `UPDATE scheduler.crons SET status = 'paused', pause_reason = 'failures', consecutive_failures = 3 WHERE id = $1`,
      [own.id],
    )
    await succeeded(from, to)
    const [concern] = await waitFor(() => {
      const found = scheduler.work.concerns.filter(({ ref }) => ref === own.id)
      return found.length > 0 && found
    })
    expect(concern).toMatchObject({ version: 2, concern: { node_id: to, name: own.name } })
  })
})

describe('in whatever order it is told', () => {
  const both = async (first: () => Promise<unknown>, second: () => Promise<unknown>, reversed: boolean) => {
    if (reversed) [first, second] = [second, first]
    await first()
    await second()
  }

  describe.each([false, true])('reversed: %s', (reversed) => {
    it('an end before takes what fired once, and the rest follows', async () => {
      const { from, to, own, once } = await scene()
      const [end, then] = [at(), at(1000)]
      await both(
        () => ended(from, 'finalized', end),
        () => succeeded(from, to, { at: then }),
        reversed,
      )
      expect(await row(once)).toBeUndefined()
      expect(await row(own)).toMatchObject({ owner_node_id: to })
    })

    it('the cancel of the new one takes what followed it, and nothing of nodes below', async () => {
      const { from, to, child, own, once, aimed, below } = await scene()
      const [then, end] = [at(), at(1000)]
      await both(
        () => succeeded(from, to, { at: then }),
        () => ended(to, 'canceled', end),
        reversed,
      )
      for (const cron of [own, once, aimed]) expect(await row(cron)).toBeUndefined()
      expect(await row(below)).toMatchObject({ owner_node_id: child, owner_path: [child, to] })
    })

    it('who follows the one that followed has them all', async () => {
      const { from, to, child, own, aimed, below } = await scene()
      const last = scheduler.work.node()
      const [then, later] = [at(), at(1000)]
      await both(
        () => succeeded(from, to, { at: then }),
        () => succeeded(to, last, { at: later }),
        reversed,
      )
      expect(await row(own)).toMatchObject({ owner_node_id: last, authority: { node_id: last } })
      expect(await row(aimed)).toMatchObject({ target_node_id: last })
      expect(await row(below)).toMatchObject({ owner_path: [child, last] })
    })

    it('an end of the old one after it was brought back takes nothing of the new one', async () => {
      const { from, to, own, once, aimed } = await scene()
      const [then, end] = [at(), at(1000)]
      await succeeded(from, to, { at: then })
      await both(
        () => ended(from, 'finalized', end),
        () => ended(from, 'canceled', end),
        reversed,
      )
      for (const cron of [own, once, aimed]) expect(await row(cron)).toMatchObject({ target_node_id: to })
    })
  })

  it('at once too', async () => {
    const { from, to, own, once, aimed } = await scene()
    const last = scheduler.work.node()
    const [end, then, later] = [at(), at(1000), at(2000)]
    await Promise.all([
      succeeded(to, last, { at: later }),
      ended(from, 'finalized', end),
      succeeded(from, to, { at: then }),
    ])
    expect(await row(once)).toBeUndefined()
    expect(await row(own)).toMatchObject({ owner_node_id: last })
    expect(await row(aimed)).toMatchObject({ target_node_id: last })
  })
})
