import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { type AdminConnection, openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
let other: AdminConnection
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  other = await openAdmin(lifecycle.database.url)
})
afterAll(async () => {
  await other.close()
  await lifecycle.stop()
})
afterEach(() => {
  lifecycle.host.onStop = () => undefined
})

const cancel = (id: string, ctx = ownerContext()) => lifecycle.call('nodes.cancel', { id }, ctx)
const watch = (subscriber: string, publisher: string, mode: 'active' | 'passive' = 'active') =>
  lifecycle.call('canvas.subscriptions.put', { subscriber, publisher, mode })
const below = (parent_id: string, name: string) => lifecycle.create({ parent_id, name })
const statusOf = async (...ids: string[]) => Promise.all(ids.map(async (id) => (await lifecycle.retrieve(id)).status))

/** Has `work` begin while a row is locked by somebody else, and go on when `meanwhile` is done. */
const whileLocked = async <T>(id: string, work: () => Promise<T>, meanwhile: () => Promise<unknown>): Promise<T> => {
  await other.run('BEGIN')
  await other.rows('SELECT 1 FROM canvas.nodes WHERE id = $1 FOR NO KEY UPDATE', [id])
  const begun = work()
  begun.catch(() => undefined) // thrown where it is answered
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  await waitFor(async () => (await lifecycle.database.query(waiting)).length > 0, { what: 'a wait for the lock' })
  await meanwhile()
  await other.run('ROLLBACK')
  return begun
}

describe('cancel', () => {
  it('takes all below with it that nobody else watches, and spares the child that another node watches', async () => {
    const root = await lifecycle.create()
    const [a, b] = [await below(root.id, 'a'), await below(root.id, 'b')]
    const [deep, spared, child] = [await below(a.id, 'deep'), await below(b.id, 'spared'), await below(b.id, 'c')]
    const underSpared = await below(spared.id, 'under')
    const stranger = await lifecycle.create()
    await watch(stranger.id, spared.id, 'passive')
    const answer = await cancel(root.id)
    expect(answer.canceled[0]).toBe(root.id)
    expect([...answer.canceled].sort()).toEqual([root.id, a.id, b.id, deep.id, child.id].sort())
    expect([...answer.spared].sort()).toEqual([spared.id, underSpared.id].sort())
    for (const id of answer.canceled) expect(await lifecycle.retrieve(id)).toMatchObject({ status: 'canceled' })
    expect(await statusOf(spared.id, underSpared.id, stranger.id)).toEqual(['active', 'active', 'active'])
    expect(await lifecycle.retrieve(spared.id)).toMatchObject({ parent_id: b.id, root_id: root.id })
    expect(await lifecycle.typesOf(deep.id)).toContain('node.canceled')
  })

  it('ends nodes that only watch each other, and takes ended ones along', async () => {
    const root = await lifecycle.create()
    const [a, b] = [await below(root.id, 'a'), await lifecycle.running({ parent_id: root.id, lifecycle: 'terminal' })]
    await watch(a.id, b.node.id)
    await watch(b.node.id, a.id)
    await b.broker.turn(1, b.assignment.mail, { final: 'there' })
    expect([...(await cancel(root.id)).canceled].sort()).toEqual([root.id, a.id, b.node.id].sort())
    expect(await failure(lifecycle.message(b.node.id, 'more'))).toMatchObject({ code: 'illegal_transition' })
  })

  it('counts no watcher that was canceled itself, and names no node that was canceled before', async () => {
    const root = await lifecycle.create()
    const [a, gone] = [await below(root.id, 'a'), await below(root.id, 'gone')]
    const stranger = await lifecycle.create()
    await watch(stranger.id, a.id)
    await cancel(gone.id)
    await cancel(stranger.id)
    const { canceled, spared } = await cancel(root.id)
    expect({ canceled, spared }).toEqual({ canceled: [root.id, a.id], spared: [] })
  })

  it('is told to everyone outside who watches, once, and to nobody that ended with it', async () => {
    const parent = await lifecycle.running({ lifecycle: 'resident' })
    await parent.broker.turn(1, parent.assignment.mail)
    const watcher = await lifecycle.create({ lifecycle: 'resident' })
    const top = await below(parent.node.id, 'top')
    const child = await below(top.id, 'child')
    await watch(watcher.id, top.id)
    await watch(child.id, top.id)
    await cancel(top.id)
    for (const id of [parent.node.id, watcher.id]) {
      const told = (await lifecycle.recorded(id)).filter(({ type }) => type === 'child.ended')
      expect(told).toMatchObject([{ data: { node_id: top.id, status: 'canceled' } }])
    }
    const { assignment } = await lifecycle.bound(parent.node.id, 2)
    expect(assignment.mail).toMatchObject([{ kind: 'notice', tier: 'urgent' }])
    const [mail] = await lifecycle.database.query<{ mail: string }>(
      "SELECT count(*) AS mail FROM canvas.mail WHERE node_id = $1 AND kind = 'notice'",
      [child.id],
    )
    expect(Number(mail?.mail)).toBe(0)
  })

  it('catches a child that is made while it waits for its locks', async () => {
    const root = await lifecycle.create()
    const child = await below(root.id, 'child')
    let late = ''
    const answer = await whileLocked(
      root.id,
      () => cancel(root.id),
      async () => {
        late = (await below(child.id, 'late')).id
      },
    )
    expect([...answer.canceled].sort()).toEqual([root.id, child.id, late].sort())
    expect(await failure(below(child.id, 'too late'))).toMatchObject({ code: 'illegal_transition' })
  })

  it('spares a child that somebody begins to watch while it waits for its locks', async () => {
    const [stranger, root] = [await lifecycle.create(), await lifecycle.create()]
    const child = await below(root.id, 'child')
    const answer = await whileLocked(
      root.id,
      () => cancel(root.id),
      () => watch(stranger.id, child.id),
    )
    expect(answer).toEqual({ canceled: [root.id], spared: [child.id] })
    expect(await failure(watch(stranger.id, root.id))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'canceled', event: 'watch' },
    })
  })

  // Two cancels that each locked part of the other's tree once waited for each other until one was thrown away.
  it('of a tree and of parts of it at once ends each node once', async () => {
    const root = await lifecycle.create()
    const children = await Promise.all(['a', 'b', 'c', 'd'].map((name) => below(root.id, name)))
    const under = await Promise.all(children.map(({ id }) => below(id, 'under')))
    const ids = [root, ...children, ...under].map(({ id }) => id)
    const answers = await Promise.allSettled([...ids].reverse().map((id) => cancel(id)))
    const canceled = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value.canceled : []))
    expect(canceled.sort()).toEqual([...ids].sort())
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'illegal_transition' })
    }
    expect(lifecycle.logged.filter((line) => line.includes('run again'))).toEqual([])
  })

  // It asked for the locks of a row that was gone again and again.
  it('of a node that is deleted while it is waited for is refused', async () => {
    const { id } = await lifecycle.create()
    const { epoch } = await lifecycle.call('lifecycle.status', {})
    const asked = whileLocked(
      id,
      () => failure(cancel(id)),
      async () => {
        await other.run(`SET LOCAL svc.epoch = '${epoch}'`)
        await other.rows('DELETE FROM canvas.nodes WHERE id = $1', [id])
        await other.run('COMMIT')
      },
    )
    expect(await asked).toMatchObject({ code: 'not_found' })
  })

  it('by a node reaches what is below it alone', async () => {
    const root = await lifecycle.create()
    const child = await below(root.id, 'child')
    const grandchild = await below(child.id, 'grandchild')
    expect(await failure(cancel(root.id, nodeContext(child.id)))).toMatchObject({ code: 'not_found' })
    expect(await cancel(grandchild.id, nodeContext(child.id))).toEqual({ canceled: [grandchild.id], spared: [] })
  })

  // The processes of a canceled tree were once ended by the process that canceled it, or by nobody.
  it('ends processes and jobs also when the writer dies right after the commit', async () => {
    const { node } = await lifecycle.running()
    const child = await lifecycle.running({ parent_id: node.id })
    const job = await lifecycle.call('nodes.jobs.start', { id: child.node.id, command: 'sleep' })
    await waitFor(() => lifecycle.host.jobs.has(job.id), { what: 'the job on its host' })
    let lost = 0
    const lose = () => {
      lost += 1
      throw new Error('the writer is gone')
    }
    lifecycle.host.onStop = lose
    lifecycle.host.onJob = lose
    await cancel(node.id)
    await waitFor(() => lost >= 3, { what: 'the first orders, which are lost' })
    await lifecycle.stopService()
    lifecycle.host.onStop = () => undefined
    lifecycle.host.onJob = () => undefined
    const [stops, ends] = [lifecycle.host.stops.length, lifecycle.host.jobCancels.length]
    await lifecycle.another()
    await lifecycle.host.hello()
    await waitFor(() => !lifecycle.host.brokers.has(node.id) && !lifecycle.host.brokers.has(child.node.id))
    await waitFor(() => lifecycle.host.jobCancels.slice(ends).includes(job.id))
    expect(lifecycle.host.stops.slice(stops).map((stop) => stop.node_id)).toEqual(
      expect.arrayContaining([node.id, child.node.id]),
    )
  })
})
