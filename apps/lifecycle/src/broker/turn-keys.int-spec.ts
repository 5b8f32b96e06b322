import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Writer } from '#common/kernel/database/writer.js'
import { LifecycleUnderTest, ownerContext, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const daysPass = () =>
  lifecycle.service.app.get(Writer).transact(ownerContext(), async ({ tx }) => {
    tx.send(
      "UPDATE canvas.idempotency SET created_at = now() - interval '9 days', expires_at = now() - interval '8 days'",
    )
  })
const forget = () => lifecycle.service.app.get(Writer).forgetExpiredKeys(ownerContext())

// A node that was killed in the middle of `spawn` and revived days later made a second child.
describe('what a node asked for in a turn', () => {
  it('is done once, however late the turn goes on', async () => {
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'resident' })
    await broker.append(started(1, assignment.mail))
    const key = { ...broker.ctx, idempotencyKey: `${node.id}.1.call_1` }
    const spawn = () => lifecycle.create({ parent_id: node.id, name: 'helper' }, key)
    const child = await spawn()
    await daysPass()
    await forget()
    expect((await spawn()).id).toBe(child.id)
    await lifecycle.message(node.id, 'go on')
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    await broker.append(started(2, (await broker.claim()).mail))
    await daysPass()
    expect(await forget()).toBeGreaterThan(0)
    expect((await spawn()).id).not.toBe(child.id)
  })

  it('is forgotten after a day under a key of its own making, and with the node', async () => {
    const { broker } = await lifecycle.running()
    const keyed = { ...broker.ctx, idempotencyKey: 'mine' }
    await lifecycle.call('nodes.reports.push', { id: broker.nodeId, kind: 'update', body: 'half' } as never, keyed)
    await daysPass()
    await forget()
    expect(await lifecycle.database.query("SELECT 1 FROM canvas.idempotency WHERE key = 'mine'")).toEqual([])
  })
})
