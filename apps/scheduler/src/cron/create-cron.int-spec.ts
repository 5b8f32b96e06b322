import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Cron, cronLimits } from '#common/contract/cron.schema.js'
import { contract, type InputOf } from '#common/contract/index.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { appCall, nodeCall, ownerCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'
import { writeFire } from '../fire/fire.fixture.js'

type Asked = Partial<InputOf<(typeof contract)['crons.create']>>

let scheduler: SchedulerUnderTest
beforeAll(async () => {
  scheduler = await SchedulerUnderTest.start()
})
afterAll(() => scheduler.stop())

const minute = 60_000
const iso = (ahead: number): string => new Date(scheduler.clock.now() + ahead).toISOString()
const stored = async (): Promise<number> =>
  (await scheduler.database.query<{ n: number }>('SELECT count(*)::int AS n FROM scheduler.crons'))[0]?.n as number
const message = (node_id: string) => ({ type: 'message' as const, node_id, body: 'tick', tier: 'normal' as const })
const codeOf = (work: Promise<unknown>): Promise<SvcError> =>
  work.then(
    () => {
      throw new Error('it was taken')
    },
    (error: SvcError) => error,
  )

describe('arming a schedule', () => {
  it('answers with what was armed and when it fires next', async () => {
    const node = scheduler.work.node()
    const cron = await scheduler.create({
      name: 'each morning',
      schedule: { cron: '0 9 * * MON-FRI', tz: 'Europe/Berlin' },
      action: message(node),
    })
    expect(cron).toMatchObject({
      id: expect.stringMatching(/^cron_/),
      name: 'each morning',
      owner_node_id: null,
      app_id: null,
      created_by: { kind: 'owner', id: null },
      missed: 'once',
      catchup_window_s: 3600,
      overlap: 'skip',
      status: 'active',
      pause_reason: null,
      consecutive_failures: 0,
      last_fire: null,
      version: 1,
    })
    expect(new Date(cron.next_fire_at as string).getTime()).toBeGreaterThan(scheduler.clock.now())
    expect(await scheduler.retrieve(cron.id)).toEqual(cron)
  })

  it('calls it after what it does when no name is given', async () => {
    const node = scheduler.work.node()
    const { name } = await scheduler.create({ action: { ...message(node), body: 'Look at\n the   build' } })
    expect(name).toBe('Look at the build')
  })

  it('asks lifecycle whether it could be done, on the authority of who makes it', async () => {
    const node = scheduler.work.node()
    const ctx = nodeCall(node, { scopes: ['svc:schedule', 'svc:act'] })
    const cron = await scheduler.create({ action: message(node) }, ctx)
    expect(scheduler.work.checks.at(-1)).toEqual({
      by: {
        kind: 'node',
        principal: `node:${node}`,
        node_id: node,
        app_id: null,
        profile: null,
        scopes: ['svc:schedule', 'svc:act'],
      },
      action: message(node),
    })
    expect(cron).toMatchObject({ owner_node_id: node, created_by: { kind: 'node', id: node } })
  })

  it('of the owner for a node acts as that node', async () => {
    const node = scheduler.work.node({ appId: newId('app') })
    const cron = await scheduler.create({ action: message(node), owner_node_id: node })
    expect(scheduler.work.checks.at(-1)?.by).toMatchObject({ kind: 'node', node_id: node, scopes: ['*'] })
    expect(cron).toMatchObject({ owner_node_id: node, app_id: scheduler.work.nodes.get(node)?.appId })
  })

  it('takes a node of those below the one that asks, and no other', async () => {
    const [above, stranger] = [scheduler.work.node(), scheduler.work.node()]
    const below = scheduler.work.node({ under: above })
    const held = ['svc:act', 'svc:schedule']
    const ctx = nodeCall(above, { scopes: held })
    const cron = await scheduler.create({ owner_node_id: below, action: message(below) }, ctx)
    expect(cron.owner_node_id).toBe(below)
    // as that node, and with no more than who made it holds
    expect(scheduler.work.checks.at(-1)?.by).toMatchObject({ kind: 'node', principal: `node:${below}`, scopes: held })
    const before = await stored()
    for (const owner_node_id of [stranger, newId('node')]) {
      const error = await codeOf(scheduler.create({ owner_node_id, action: message(above) }, nodeCall(above)))
      expect(error).toMatchObject({ code: 'not_found', message: `There is no node ${owner_node_id}.` })
    }
    expect(await codeOf(scheduler.create({ owner_node_id: above }, nodeCall(below)))).toMatchObject({
      code: 'not_found',
    })
    expect(await stored()).toBe(before)
  })

  it('says of a node out of reach that there is none, whatever else is wrong with it', async () => {
    const [mine, other] = [scheduler.work.node(), scheduler.work.node()]
    scheduler.work.onCheck = ({ by, action }) => {
      if (by.node_id === other && action.type === 'create_node') throw new SvcError('scope_missing')
    }
    const action = { type: 'create_node', prompt: 'go', cwd: '/tmp' } as Asked['action']
    const error = await codeOf(scheduler.create({ owner_node_id: other, action }, nodeCall(mine)))
    expect(error).toMatchObject({ code: 'not_found' })
    const child = scheduler.work.node({ under: mine })
    scheduler.work.onCheck = ({ by, action: asked }) => {
      if (by.node_id === child && asked.type === 'create_node') throw new SvcError('scope_missing')
    }
    expect(await codeOf(scheduler.create({ owner_node_id: child, action }, nodeCall(mine)))).toMatchObject({
      code: 'scope_missing',
    })
    scheduler.work.onCheck = () => undefined
  })

  it('of an application takes a node of its own, of its profile where its token is confined to one', async () => {
    const [app, other] = [newId('app'), newId('app')]
    const [own, ofTed, foreign] = [
      scheduler.work.node({ appId: app }),
      scheduler.work.node({ appId: app, profile: 'ted' }),
      scheduler.work.node({ appId: other }),
    ]
    const create = (node: string, ctx = appCall(app)) =>
      scheduler.create({ owner_node_id: node, action: message(node) }, ctx)
    expect(await create(own)).toMatchObject({ owner_node_id: own, app_id: app })
    expect(await create(ofTed)).toMatchObject({ app_id: app })
    expect(await create(ofTed, appCall(app, 'ted'))).toMatchObject({ app_id: app })
    expect(await codeOf(create(foreign))).toMatchObject({ code: 'not_found' })
    expect(await codeOf(create(ofTed, appCall(app, 'una')))).toMatchObject({ code: 'not_found' })
  })
})

describe('a schedule that can not be armed', () => {
  const refused: [string, string, () => Asked][] = [
    ['a date that never comes', 'schedule_impossible', () => ({ schedule: { cron: '0 0 31 2 *', tz: 'UTC' } })],
    ['a zone that is none', 'timezone_unknown', () => ({ schedule: { cron: '@daily', tz: 'Europe/Atlantis' } })],
    ['a cadence under a minute', 'schedule_too_frequent', () => ({ schedule: { every: 59 } })],
    ['a moment that has passed', 'schedule_past', () => ({ schedule: { at: iso(-1000) } })],
    ['an end before its first slot', 'schedule_impossible', () => ({ end_at: iso(minute) })],
    ['an end before its start', 'schedule_impossible', () => ({ start_at: iso(2 * minute), end_at: iso(minute) })],
    ['words that are no expression', 'validation_failed', () => ({ schedule: { cron: 'each day', tz: 'UTC' } })],
    ['a jitter as long as its cadence', 'validation_failed', () => ({ schedule: { every: 60 }, jitter_s: 60 })],
    ['an action of later', 'action_unavailable', () => ({ action: { type: 'start_run', prompt: 'go' } })],
    ['a node that does not exist', 'not_found', () => ({ action: message(newId('node')) })],
    ['an owner that does not exist', 'not_found', () => ({ owner_node_id: newId('node') })],
    [
      'an action that is too large',
      'validation_failed',
      () => ({ action: { ...message(scheduler.work.node()), body: '\u0001'.repeat(cronLimits.actionBytes / 5) } }),
    ],
  ]

  it.each(refused)('%s: %s, and nothing is stored', async (_, code, more) => {
    const before = await stored()
    const error = await codeOf(scheduler.create(more()))
    expect(error.code).toBe(code)
    expect(await stored()).toBe(before)
  })

  it('says which actions there are', async () => {
    const error = await codeOf(scheduler.create({ action: { type: 'start_run' } }))
    expect(error.fields).toMatchObject({ available: ['message', 'create_node', 'bash', 'publish'] })
  })

  const outside = ['scope_missing', 'scope_exceeds_ceiling', 'path_outside_scope', 'illegal_transition'] as const
  it.each(outside)('outside the ceiling: %s as lifecycle says it, and nothing is stored', async (code) => {
    const before = await stored()
    scheduler.work.onCheck = () => {
      throw new SvcError(code, 'not this', { scope: 'svc:act' })
    }
    const error = await codeOf(scheduler.create())
    scheduler.work.onCheck = () => undefined
    expect(error).toMatchObject({ code, message: 'not this', fields: { scope: 'svc:act' } })
    expect(await stored()).toBe(before)
  })

  it('while lifecycle is away: service_unavailable, and nothing is stored', async () => {
    const before = await stored()
    const action = message(scheduler.work.node())
    await scheduler.work.leave()
    expect(await codeOf(scheduler.create({ action }))).toMatchObject({ code: 'service_unavailable' })
    await scheduler.work.join()
    expect(await stored()).toBe(before)
  })

  it('on a node that was canceled while it was asked for', async () => {
    const node = scheduler.work.node()
    scheduler.work.onCheck = async () => {
      const ended = { source_event: newId('evt'), node_id: node, how: 'canceled', ended_at: iso(0) }
      await scheduler.call('scheduler.node.ended', ended)
    }
    const errors = [
      await codeOf(scheduler.create({ action: message(node) }, nodeCall(node))),
      await codeOf(scheduler.create({ action: message(node) })),
    ]
    scheduler.work.onCheck = () => undefined
    expect(errors.map(({ code }) => code)).toEqual(['illegal_transition', 'illegal_transition'])
  })
})

describe('a request with a key that is repeated', () => {
  const keyed = (key: string) => ownerCall({ idempotencyKey: key })

  it('is given its first answer and arms nothing more', async () => {
    const action = message(scheduler.work.node())
    const first = await scheduler.create({ action }, keyed('again'))
    const before = await stored()
    await scheduler.call('crons.pause', { id: first.id })
    expect(await scheduler.create({ action }, keyed('again'))).toEqual(first)
    await scheduler.call('crons.delete', { id: first.id })
    expect(await scheduler.create({ action }, keyed('again'))).toEqual(first)
    expect(await stored()).toBe(before - 1)
  })

  it('is given it though its moment has passed and lifecycle would refuse it', async () => {
    const [action, schedule] = [message(scheduler.work.node()), { at: iso(100) }]
    const first = await scheduler.create({ action, schedule }, keyed('passed'))
    scheduler.clock.advance(1000)
    scheduler.work.onCheck = () => {
      throw new SvcError('not_found')
    }
    expect(await scheduler.create({ action, schedule }, keyed('passed'))).toEqual(first)
    scheduler.work.onCheck = () => undefined
  })

  it('with another body is refused', async () => {
    await scheduler.create({ action: message(scheduler.work.node()) }, keyed('other'))
    const error = await codeOf(scheduler.create({ action: message(scheduler.work.node()) }, keyed('other')))
    expect(error.code).toBe('idempotency_key_reused')
  })

  it('twice at once arms one', async () => {
    const action = message(scheduler.work.node())
    const before = await stored()
    const answers = await Promise.all(Array.from({ length: 8 }, () => scheduler.create({ action }, keyed('at once'))))
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
    expect(await stored()).toBe(before + 1)
  })
})

describe('the number of schedules', () => {
  const outcomes = async (work: Promise<Cron>[]): Promise<{ taken: Cron[]; codes: Set<string> }> => {
    const settled = await Promise.allSettled(work)
    return {
      taken: settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
      codes: new Set(settled.flatMap((one) => (one.status === 'rejected' ? [(one.reason as SvcError).code] : []))),
    }
  }

  it('of one node stays at 100, however many are asked for at once; a deleted one makes room, a paused one none', async () => {
    const node = scheduler.work.node()
    const action = message(node)
    const create = () => scheduler.create({ action }, nodeCall(node))
    const { taken, codes } = await outcomes(Array.from({ length: 150 }, create))
    expect([taken.length, [...codes]]).toEqual([cronLimits.perNode, ['quota_exceeded']])
    const [first, second] = taken as [Cron, Cron]
    await scheduler.call('crons.pause', { id: first.id })
    expect(await codeOf(create())).toMatchObject({
      code: 'quota_exceeded',
      fields: { limit: 'crons_of_node', max: 100 },
    })
    await scheduler.call('crons.delete', { id: second.id })
    expect((await create()).owner_node_id).toBe(node)
  })

  it('of one application stays at 1,000, over all its nodes', async () => {
    const app = newId('app')
    const node = scheduler.work.node({ appId: app })
    const { id } = await scheduler.create({ action: message(node) }, appCall(app))
    await scheduler.database.query(
      `INSERT INTO scheduler.crons SELECT (json_populate_record(c, json_build_object('id', c.id || n))).*
         FROM scheduler.crons c, generate_series(1, $2::int) n WHERE c.id = $1`,
      [id, cronLimits.perApp - 6],
    )
    const asked = Array.from({ length: 10 }, (_, at) =>
      scheduler.create({ action: message(node) }, at % 2 ? appCall(app) : nodeCall(node)),
    )
    const { taken, codes } = await outcomes(asked)
    expect([taken.length, [...codes]]).toEqual([5, ['quota_exceeded']])
  })

  // They count for nothing, so that one node armed as many as it liked, each for the next moment.
  it.each([
    ['node', cronLimits.perNode],
    ['application', cronLimits.perApp],
  ])('of one %s that are over stays bounded too: the oldest go, their history stays', async (whose, kept) => {
    const app = newId('app')
    const node = scheduler.work.node({ appId: app })
    const ctx = whose === 'node' ? nodeCall(node) : appCall(app)
    const create = () => scheduler.create({ action: message(node) }, ctx)
    const { id } = await create()
    await scheduler.database.query(
      `INSERT INTO scheduler.crons SELECT (json_populate_record(c, json_build_object('id', c.id || '_' || n,
           'status', CASE n % 2 WHEN 0 THEN 'completed' ELSE 'failed' END, 'next_slot', null, 'next_due', null,
           'updated_at', c.updated_at - n * interval '1 second'))).*
         FROM scheduler.crons c, generate_series(1, $2::int) n WHERE c.id = $1`,
      [id, kept + 5],
    )
    const over = async (): Promise<number[]> => {
      const rows = await scheduler.database.query<{ n: number }>(
        `SELECT substr(id, $2)::int AS n FROM scheduler.crons WHERE starts_with(id, $1) AND id <> $1 ORDER BY n`,
        [id, id.length + 2],
      )
      return rows.map(({ n }) => n)
    }
    const oldest = { ...(await scheduler.retrieve(id)), id: `${id}_${kept + 5}` }
    const slot = new Date(scheduler.clock.now() - minute)
    await writeFire(scheduler, oldest, { slot, status: 'succeeded', fired_at: slot, ended_at: slot })
    await create()
    expect(await over()).toEqual(Array.from({ length: kept }, (_, at) => at + 1))
    const lines = await scheduler.database.query('SELECT 1 FROM scheduler.fires WHERE cron_id = $1', [oldest.id])
    expect(lines).toHaveLength(1)
  })
})
