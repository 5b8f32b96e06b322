import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, ownerContext } from '../../../test/support/lifecycle-service.js'
import { Housekeeping } from './housekeeping.js'
import { NodeService } from './node/node.service.js'

let lifecycle: LifecycleUnderTest
beforeEach(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterEach(() => lifecycle.stop())

describe('the writer', () => {
  it('that dies between the commit and the launch is followed by one that launches', async () => {
    let refused = 0
    lifecycle.host.onLaunch = () => {
      refused += 1
      throw new Error('the answer is lost')
    }
    const node = await lifecycle.create()
    await waitFor(() => refused > 0)
    await lifecycle.stopService()
    lifecycle.host.onLaunch = () => undefined
    await lifecycle.another()
    await lifecycle.host.hello()
    const { assignment } = await lifecycle.bound(node.id)
    expect(assignment).toMatchObject({ generation: 1, mail: [{ kind: 'prompt' }] })
  })

  it('that starts anew leaves alone what its host still hosts', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await lifecycle.stopService()
    await lifecycle.another()
    await lifecycle.host.hello()
    expect(await broker.turn(1, assignment.mail)).toMatchObject({ next: 'stop' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle', generation: 1 })
  })

  it('that was replaced can write no more, and says so; the next one serves', async () => {
    const { node, broker } = await lifecycle.running()
    const first = lifecycle.service
    const nodes = first.app.get(NodeService)
    const second = await lifecycle.another({ SVC_LEASE_HOLDER: 'one' })
    expect(second).not.toBe(first)
    const late = await failure(nodes.message(ownerContext(), { id: node.id, body: 'x', tier: 'normal' }))
    expect(late).toMatchObject({ code: 'not_leader' })
    await lifecycle.stopService(first)
    expect(await broker.bind()).toMatchObject({ generation: 1 })
    expect(await lifecycle.message(node.id, 'hello')).toMatchObject({ delivered: 'live' })
  })

  it('stands by while another leads, and takes over when that one leaves', async () => {
    const node = await lifecycle.create()
    const first = lifecycle.service
    const second = lifecycle.another({ SVC_LEASE_HOLDER: 'two' })
    const { epoch } = await lifecycle.call('lifecycle.status', {})
    await lifecycle.stopService(first)
    await second
    const answer = await waitFor(() => lifecycle.call('lifecycle.status', {}))
    expect(answer.epoch).toBeGreaterThan(epoch)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active' })
  })

  it('that ends answers those who wait for an outcome at once, with what is known', async () => {
    const node = await lifecycle.create()
    const waiting = lifecycle.outcome(node.id, 60)
    await lifecycle.retrieve(node.id)
    await lifecycle.stopService()
    expect(await waiting).toMatchObject({ status: 'active', settled: false })
  })
})

describe('housekeeping', () => {
  it('clears answers that were kept long enough, and deliveries that nobody repeats any more', async () => {
    const { app } = lifecycle.service
    await lifecycle.create({}, ownerContext({ idempotencyKey: 'young' }))
    await app.get(Writer).transact(ownerContext(), async ({ tx }) => {
      tx.send(`INSERT INTO canvas.idempotency (principal, key, operation, body_hash, created_at, expires_at)
        VALUES ('owner', 'old', 'o', '', now() - interval '2 days', now() - interval '1 day')`)
      tx.send(`INSERT INTO canvas.inbox (source, source_event, received_at)
        VALUES ('models', 'old', now() - interval '100 days'), ('models', 'young', now())`)
    })
    expect(await app.get(Housekeeping).round()).toBe(2)
    const database = app.get(Database)
    expect(await database.query('SELECT key FROM canvas.idempotency')).toEqual([{ key: 'young' }])
    expect(await database.query('SELECT source_event FROM canvas.inbox')).toEqual([{ source_event: 'young' }])
  })
})
