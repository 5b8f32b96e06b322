import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

/** From now on the database refuses to write such rows. */
const refuse = (table: string, event: string, where: string): Promise<unknown> =>
  lifecycle.database.query(`
    CREATE FUNCTION public.refuse_${table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF ${where} THEN RAISE EXCEPTION 'this row is bad'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER refuse_${table} BEFORE ${event} ON canvas.${table} FOR EACH ROW EXECUTE FUNCTION public.refuse_${table}()`)
const allow = (table: string): Promise<unknown> =>
  lifecycle.database.query(`DROP TRIGGER refuse_${table} ON canvas.${table}; DROP FUNCTION public.refuse_${table}()`)

describe('a record that can not be written', () => {
  // Fault 28: one node that could not be looked after kept every one behind it from being looked after.
  it('keeps no other node from being looked after, and is tried again', async () => {
    const { node: bad } = await lifecycle.running()
    const { node: good } = await lifecycle.running()
    await refuse('nodes', 'UPDATE', `NEW.id = '${bad.id}'`)
    lifecycle.host.brokers.clear()
    lifecycle.host.incarnation = 'second'
    await lifecycle.host.hello()

    await lifecycle.bound(good.id, 2)
    await waitFor(() => lifecycle.logged.some((line) => line.includes('this row is bad') && line.includes(bad.id)), {
      what: 'a word of the bad record',
    })
    const { data } = await lifecycle.call('nodes.list', { limit: 50 })
    expect(data.map(({ id, generation }) => [id, generation])).toEqual([
      [good.id, 2],
      [bad.id, 1],
    ])

    await allow('nodes')
    await lifecycle.bound(bad.id, 2)
  })
})

describe('a final report of which one part can not be written', () => {
  // Fault 39: a report was kept, its node had not ended, and nobody was told.
  it('leaves nothing of itself: neither report, nor end, nor mail; and is given again', async () => {
    const { node: parent, broker: above, assignment } = await lifecycle.running()
    await above.turn(1, assignment.mail)
    const { node, broker } = await lifecycle.running({ parent_id: parent.id, lifecycle: 'terminal' })
    const before = await Promise.all([lifecycle.retrieve(node.id), lifecycle.retrieve(parent.id)])
    const types = await lifecycle.typesOf(node.id)
    await refuse('mail', 'INSERT', `NEW.node_id = '${parent.id}'`)

    expect(await failure(broker.push('final', 'all of it'))).toMatchObject({ code: 'internal' })
    expect((await lifecycle.call('nodes.reports.list', { id: node.id, limit: 50 })).data).toEqual([])
    const [now, parentNow] = await Promise.all([lifecycle.retrieve(node.id), lifecycle.retrieve(parent.id)])
    expect([now.status, now.updated_at, parentNow.status]).toEqual(['active', before[0].updated_at, 'idle'])
    expect(await lifecycle.typesOf(node.id)).toEqual(types)

    await allow('mail')
    await broker.push('final', 'all of it')
    expect(await lifecycle.outcome(node.id)).toMatchObject({ status: 'done', final_report: { body: 'all of it' } })
    expect((await lifecycle.bound(parent.id, 2)).assignment.mail).toMatchObject([{ body: 'all of it' }])
  })
})
