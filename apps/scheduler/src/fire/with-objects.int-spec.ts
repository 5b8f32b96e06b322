import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Cron } from '#common/contract/cron.schema.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'
import { ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'
import { nodeCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'

/** All three services as they are, on one bus. */
let [lifecycle, objects, scheduler] = [] as unknown as [LifecycleUnderTest, ObjectsUnderTest, SchedulerUnderTest]
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  objects = await ObjectsUnderTest.start()
  scheduler = await SchedulerUnderTest.start({ played: false })
  const clock = {
    name: 'clock',
    description: '',
    catalog: [{ event: 'tick', description: '', payload_schema: { type: 'object', required: ['n'] } }],
    receiver: null,
    app_id: null,
    watches: [],
    rotate: false,
  }
  await objects.call('objects.object.register', clock, ownerCall({ idempotencyKey: 'clock' }))
})
afterAll(async () => {
  await scheduler.stop()
  await objects.stop()
  await lifecycle.stop()
})

const tick = { type: 'publish' as const, ref: 'clock', event: 'tick', payload: { n: 1 } }
const events = async () => (await objects.call('customObjects.events.list', { ref: 'clock', limit: 100 })).data
const comeTo = async ({ id }: Cron): Promise<void> => {
  const { next_fire_at } = await scheduler.retrieve(id)
  scheduler.clock.moveTo(Date.parse(String(next_fire_at)))
}

describe('a schedule that publishes', () => {
  it.each([
    ['not_found', { ref: 'nothing' }],
    ['event_not_declared', { event: 'tock' }],
    ['payload_schema_mismatch', { payload: { m: 1 } }],
  ])('is not armed for what could not be published: %s', async (code, more) => {
    await expect(scheduler.create({ action: { ...tick, ...more } })).rejects.toMatchObject({ code })
  })

  it('publishes in the name of its node, and its event is mail of who watches the object', async () => {
    const { id } = await lifecycle.create()
    await objects.call('canvas.watches.put', { watcher: id, source: 'clock', events: null, tier: 'normal' })
    const cron = await scheduler.create({ schedule: { every: 60 }, action: tick }, nodeCall(id))
    await comeTo(cron)
    await scheduler.until(cron.id, 'succeeded')
    expect(await events()).toMatchObject([
      { event: 'tick', payload: { n: 1 }, published_by: { kind: 'node', id }, trace_id: expect.any(String) },
    ])
    await waitFor(
      async () =>
        (await lifecycle.database.query(`SELECT 1 FROM canvas.mail WHERE node_id = '${id}' AND kind = 'event'`))
          .length === 1,
      { what: 'the mail' },
    )
    await scheduler.call('crons.delete', { id: cron.id })
  })

  it('begins a trace with each slot', async () => {
    const before = (await events()).length
    const cron = await scheduler.create({ schedule: { every: 60 }, action: tick })
    for (const count of [1, 2]) {
      await comeTo(await scheduler.retrieve(cron.id))
      await waitFor(async () => (await events()).length === before + count, { what: 'the event of the slot' })
    }
    const traces = (await events()).slice(0, 2).map(({ trace_id }) => trace_id)
    expect(traces).toEqual([expect.any(String), expect.any(String)])
    expect(new Set(traces).size).toBe(2)
    await scheduler.call('crons.delete', { id: cron.id })
  })

  it('publishes once for its slot, though the process that did it died before it could say so', async () => {
    const before = (await events()).length
    const at = new Date(scheduler.clock.now() + 60_000).toISOString()
    const cron = await scheduler.create({ schedule: { at }, action: tick })
    await comeTo(cron)
    await scheduler.until(cron.id, 'succeeded')
    // its line as a process leaves it that is killed between the two
    await scheduler.database.query(
      `UPDATE scheduler.fires SET status = 'starting', ended_at = NULL, fired_at = NULL, attempts = 1, held_until = now()
        WHERE cron_id = $1`,
      [cron.id],
    )
    expect(await scheduler.until(cron.id, 'succeeded')).toMatchObject({ error: null })
    expect(await events()).toHaveLength(before + 1)
  })
})
