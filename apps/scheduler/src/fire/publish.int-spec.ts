import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Cron } from '#common/contract/cron.schema.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { traceIdOf } from '#common/kernel/trace/span.js'
import { waitFor } from '#common/testing/wait-for.js'
import { PlayedObjects } from '../../../../test/support/played-objects.js'
import { nodeCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'

const minute = 60_000
let scheduler: SchedulerUnderTest
let objects: PlayedObjects

beforeEach(async () => {
  scheduler = await SchedulerUnderTest.start()
  objects = new PlayedObjects(scheduler.nats)
  await objects.join()
})
afterEach(async () => {
  await Promise.all([scheduler.stop(), objects.leave()])
})

const tick = { type: 'publish' as const, ref: 'clock', event: 'tick', payload: { n: 1 } }
const armed = (
  more: Parameters<SchedulerUnderTest['create']>[0] = {},
  ctx?: Parameters<SchedulerUnderTest['create']>[1],
) => scheduler.create({ schedule: { every: 60 }, action: tick, ...more }, ctx)

const soon = (ms: number): string => new Date(scheduler.clock.now() + ms).toISOString()
const refusedWith = ({ id }: Cron, code: string): Promise<unknown> =>
  waitFor(async () => (await scheduler.fires(id))[0]?.error?.code === code, { what: `${code} at ${id}` })

/** The clock goes to the next slot, whose key this answers. */
const comeTo = async ({ id }: Pick<Cron, 'id'>): Promise<string> => {
  const { next_fire_at } = await scheduler.retrieve(id)
  const slot = Date.parse(String(next_fire_at))
  scheduler.clock.moveTo(slot)
  return `cron:${id}:${slot}`
}

describe('a schedule that publishes', () => {
  it('is armed when objects says that its maker may publish that, who is named as lifecycle knows them', async () => {
    const appId = newId('app')
    const node = scheduler.work.node({ appId, profile: 'una' })
    await armed({ owner_node_id: node })
    expect(objects.checks.map(({ ctx, input }) => [ctx.actor, input])).toMatchObject([
      [
        { kind: 'node', principal: `node:${node}`, nodeId: node, appId, profile: 'una', generation: 1 },
        { ref: 'clock', event: 'tick', payload: { n: 1 } },
      ],
    ])
    expect(scheduler.work.checks).toMatchObject([{ action: tick }])
    expect(objects.asked).toEqual([])
  })

  it.each(['not_found', 'event_not_declared', 'payload_schema_mismatch'] as const)(
    'is refused, and nothing is stored: %s',
    async (code) => {
      objects.onCheck = () => {
        throw new SvcError(code, 'not this')
      }
      await expect(armed()).rejects.toMatchObject({ code, message: 'not this' })
      expect(await scheduler.database.query('SELECT 1 FROM scheduler.crons')).toEqual([])
    },
  )

  it('publishes as its maker under the key of the slot, and has succeeded then', async () => {
    const node = scheduler.work.node()
    const cron = await armed({}, nodeCall(node))
    const key = await comeTo(cron)
    const fire = await scheduler.until(cron.id, 'succeeded')
    expect(objects.asked.map(({ ctx, input }) => [ctx.idempotencyKey, ctx.actor.principal, input])).toEqual([
      [key, `node:${node}`, { ref: 'clock', event: 'tick', payload: { n: 1 } }],
    ])
    expect(fire).toMatchObject({ cause: null, error: null, node_id: null, ended_at: expect.any(String) })
    expect(scheduler.work.starts).toEqual([])
  })

  it('goes at once when it fires once and is told to go', async () => {
    const cron = await armed({ delete_after_run: true })
    await comeTo(cron)
    await waitFor(async () => (await scheduler.database.query('SELECT 1 FROM scheduler.crons')).length === 0)
    expect(objects.accepted.size).toBe(1)
  })

  it.each(['event_not_declared', 'not_found', 'payload_schema_mismatch'] as const)(
    'has failed at a firing that is refused: %s',
    async (code) => {
      const cron = await armed()
      objects.onPublish = () => {
        throw new SvcError(code, 'not this')
      }
      await comeTo(cron)
      expect(await scheduler.until(cron.id, 'failed')).toMatchObject({ cause: 'refused', error: { code } })
      expect(await scheduler.retrieve(cron.id)).toMatchObject({ consecutive_failures: 1 })
    },
  )

  it('has failed when its node may do nothing any more', async () => {
    const node = scheduler.work.node()
    const cron = await armed({}, nodeCall(node))
    scheduler.work.nodes.delete(node)
    await comeTo(cron)
    expect(await scheduler.until(cron.id, 'failed')).toMatchObject({ cause: 'refused', error: { code: 'not_found' } })
    expect(objects.asked).toEqual([])
  })

  it('waits while a queue is full or objects is away, and publishes once when it may', async () => {
    const cron = await armed({ schedule: { at: soon(minute) } })
    objects.onPublish = () => {
      throw new SvcError('queue_full', 'slow has as much as it may have')
    }
    const key = await comeTo(cron)
    await refusedWith(cron, 'queue_full')
    await objects.leave()
    scheduler.clock.advance(10_000)
    await refusedWith(cron, 'service_unavailable')
    objects.onPublish = () => undefined
    await objects.join()
    scheduler.clock.advance(20_000)
    expect(await scheduler.until(cron.id, 'succeeded')).toMatchObject({ error: null })
    expect([...objects.accepted.keys()]).toEqual([key])
  })

  it('is missed when the queue stayed full for longer than the window', async () => {
    const cron = await armed({ schedule: { at: soon(minute) }, catchup_window_s: 60 })
    objects.onPublish = () => {
      throw new SvcError('queue_full')
    }
    await comeTo(cron)
    await refusedWith(cron, 'queue_full')
    const over = async () => {
      scheduler.clock.advance(40_000)
      const [fire] = await scheduler.fires(cron.id)
      return fire?.status === 'missed' && fire
    }
    expect(await waitFor(over)).toMatchObject({ cause: 'window', error: { code: 'queue_full' } })
    expect(objects.accepted.size).toBe(0)
  })
})

describe('a publication whose answer did not come', () => {
  it('is asked for once more under the same key by whoever takes it, and is published once', async () => {
    const cron = await armed({ schedule: { at: soon(minute) } })
    let lost = 0
    objects.onAnswer = () => {
      lost += 1
      if (lost === 1) throw new SvcError('service_unavailable', 'the answer is lost')
    }
    const key = await comeTo(cron)
    await waitFor(async () => (await scheduler.fires(cron.id)).some(({ status }) => status === 'running'))
    scheduler.clock.advance(10_000)
    await scheduler.until(cron.id, 'succeeded')
    expect(objects.asked.map(({ ctx }) => ctx.idempotencyKey)).toEqual([key, key])
    expect([...objects.accepted.keys()]).toEqual([key])
    // of one trace, begun by the slot: whoever looks for what came of it finds both tries
    const [first, second] = objects.asked.map(({ ctx }) => ctx.traceparent)
    expect(traceIdOf(first)).not.toBeNull()
    expect(second).toBe(first)
  })

  it('was published once also where the process died that asked for it', async () => {
    const cron = await armed({ schedule: { at: soon(minute) } })
    const gate = Promise.withResolvers<void>()
    objects.onAnswer = () => gate.promise
    const key = await comeTo(cron)
    await waitFor(() => objects.accepted.size === 1)
    // its line stands as a process leaves it that is killed: held by nobody in time
    scheduler.clock.advance(20_000)
    await scheduler.another()
    objects.onAnswer = () => undefined
    await waitFor(() => objects.asked.length === 2)
    expect(await scheduler.until(cron.id, 'succeeded')).toMatchObject({ error: null })
    expect([...objects.accepted.keys()]).toEqual([key])
    gate.resolve()
  })

  it('is not said to have failed by what refuses the next try: nobody knows', async () => {
    const cron = await armed({ schedule: { at: soon(minute) } })
    objects.onAnswer = () => {
      throw new SvcError('service_unavailable', 'the answer is lost')
    }
    await comeTo(cron)
    await scheduler.until(cron.id, 'running')
    objects.accepted.clear()
    objects.onPublish = () => {
      throw new SvcError('not_found', 'the object is gone')
    }
    scheduler.clock.advance(10_000)
    expect(await scheduler.until(cron.id, 'unknown')).toMatchObject({ cause: 'outcome_unknown' })
  })

  it('is not asked for again when nobody would remember the first try', async () => {
    const cron = await armed({ schedule: { at: soon(minute) }, catchup_window_s: 7 * 86_400 })
    objects.onAnswer = () => {
      throw new SvcError('service_unavailable', 'the answer is lost')
    }
    await comeTo(cron)
    await scheduler.until(cron.id, 'running')
    const asked = objects.asked.length
    scheduler.clock.advance(11 * 60 * minute)
    await scheduler.until(cron.id, 'unknown')
    expect(objects.asked).toHaveLength(asked)
  })
})
