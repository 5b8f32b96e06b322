import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext, started } from '../../../../test/support/lifecycle-service.js'
import { agents } from './context.fixture.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start({ settings: { SVC_BOOT_GRACE_MS: 2000 } })
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

const { agent, atWork, resting, bodies, kinds } = agents(() => lifecycle)
const recycle = (id: string, prompt?: string, ctx = ownerContext()) =>
  lifecycle.call('nodes.recycle', { id, ...(prompt && { prompt }) }, ctx)
const relaunch = (id: string, prompt?: string, ctx = ownerContext()) =>
  lifecycle.call('nodes.relaunchRoot', { id, ...(prompt && { prompt }) }, ctx)
const watchersOf = async (id: string): Promise<string[]> =>
  (
    await lifecycle.database.query<{ subscriber: string }>(
      'SELECT subscriber FROM canvas.subscriptions WHERE publisher = $1 ORDER BY subscriber',
      [id],
    )
  ).map(({ subscriber }) => subscriber)
const until = (id: string, succession: string) =>
  waitFor(async () => ((await lifecycle.retrieve(id)).succession === succession ? true : null), { what: succession })

describe('recycle', () => {
  it('ends the root with its newest report, and has a new one begin from what was kept', async () => {
    const { node, broker } = await atWork({ prompt: 'run the harbour', name: 'master' })
    await broker.push('update', 'forty ships')
    await broker.push('update', 'fifty ships')
    const { node: next, recycled } = await recycle(node.id, 'and now the lighthouse')
    expect(recycled).toBe(node.id)
    expect(next).toMatchObject({
      name: 'master',
      status: 'active',
      lifecycle: 'resident',
      parent_id: null,
      root_id: next.id,
      succeeds: node.id,
      succession: 'taken_over',
    })
    expect(await lifecycle.outcome(node.id)).toMatchObject({ status: 'done', final_report: { body: 'fifty ships' } })
    await waitFor(() => lifecycle.host.stops.some(({ node_id }) => node_id === node.id))
    const { assignment } = await lifecycle.bound(next.id)
    expect(kinds(assignment.mail)).toEqual(['kickoff', 'prompt'])
    for (const part of ['place of master', node.id, 'run the harbour', 'fifty ships']) {
      expect(bodies(assignment.mail)[0]).toContain(part)
    }
    expect(await lifecycle.typesOf(node.id)).toContain('node.recycled')
    expect(await lifecycle.typesOf(next.id)).toContain('node.recycled')
  })

  it('says so when there was no report, and hands on the mail that nobody has read', async () => {
    const { node } = await resting()
    await lifecycle.message(node.id, 'some day', 'deferred')
    const { node: next } = await recycle(node.id)
    expect((await lifecycle.outcome(node.id)).final_report?.body).toContain(next.id)
    const { assignment } = await lifecycle.bound(next.id)
    expect(assignment.mail.map(({ kind, body }) => [kind, kind === 'kickoff' ? '' : body])).toEqual([
      ['kickoff', ''],
      ['message', 'some day'],
    ])
  })

  it('gives the new root the children, whose reports wake it and whom it reaches', async () => {
    const { node } = await resting()
    const { node: child, broker } = await agent({ parent_id: node.id, name: 'pilot' })
    const grandchild = await lifecycle.create({ parent_id: child.id })
    const { node: next } = await recycle(node.id)
    expect(await watchersOf(child.id)).toEqual([next.id])
    expect(await lifecycle.retrieve(child.id)).toMatchObject({ parent_id: next.id, root_id: next.id })
    expect(await lifecycle.retrieve(grandchild.id)).toMatchObject({ parent_id: child.id, root_id: next.id })
    const { assignment, broker: root } = await lifecycle.bound(next.id)
    expect(bodies(assignment.mail)[0]).toContain(`pilot (${child.id}`)
    await root.turn(1, assignment.mail)
    await broker.push('update', 'anchored')
    const { assignment: woken } = await lifecycle.bound(next.id, 2)
    expect(bodies(woken.mail)).toEqual(['anchored'])
    await lifecycle.message(child.id, 'well done', 'normal', nodeContext(next.id, 2))
    const tree = await lifecycle.recorded(next.id, true)
    expect(tree.some(({ subject, type }) => subject === child.id && type === 'report.pushed')).toBe(true)
  })

  it('lets those who watched the old root hear its end, and watch the new one', async () => {
    const [{ node }, { node: watcher }] = [await resting(), await resting()]
    await lifecycle.database.query(
      `SET svc.epoch = '${(await lifecycle.call('lifecycle.status', {})).epoch}';
       INSERT INTO canvas.subscriptions (subscriber, publisher, mode) VALUES ('${watcher.id}', '${node.id}', 'active')`,
    )
    const { node: next } = await recycle(node.id)
    expect(await watchersOf(next.id)).toEqual([watcher.id])
    expect((await lifecycle.bound(watcher.id, 2)).assignment.mail).toMatchObject([{ kind: 'report', tier: 'urgent' }])
  })

  it('keeps the mandate over any number of roots', async () => {
    const { node } = await resting({ prompt: 'keep the light burning' })
    const { node: second } = await recycle(node.id)
    await lifecycle.bound(second.id)
    const { node: third } = await recycle(second.id)
    const { assignment, broker } = await lifecycle.bound(third.id)
    await broker.append(started(1, assignment.mail))
    await lifecycle.call('nodes.yield', { id: third.id, note: 'n' })
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    const [kickoff] = bodies((await lifecycle.bound(third.id, 2)).assignment.mail)
    expect(kickoff).toContain('keep the light burning')
  })

  it('of a program begins it again with its mandate', async () => {
    const program = await lifecycle.create({ prompt: 'serve' })
    const { node: next } = await recycle(program.id)
    const { assignment } = await lifecycle.bound(next.id)
    expect(assignment.mail.at(-1)).toMatchObject({ kind: 'prompt', body: 'serve' })
    expect(assignment.mail).toHaveLength(1)
  })

  it('is refused for a child and for a root that has ended', async () => {
    const { node } = await atWork()
    const { node: child } = await agent({ parent_id: node.id })
    for (const operation of [recycle, relaunch]) {
      expect(await failure(operation(child.id))).toMatchObject({
        code: 'illegal_transition',
        fields: { state: 'child' },
      })
    }
    await lifecycle.call('nodes.cancel', { id: node.id })
    for (const operation of [recycle, relaunch]) {
      expect(await failure(operation(node.id))).toMatchObject({
        code: 'illegal_transition',
        fields: { state: 'canceled' },
      })
    }
  })
})

describe('relaunchRoot', () => {
  it('leaves the old root alone until the new one lives, then cancels what is below it and takes its place', async () => {
    const { node } = await atWork({ prompt: 'hold the fort', name: 'old' })
    const child = await lifecycle.create({ parent_id: node.id })
    const { node: next, relaunches } = await relaunch(node.id, 'be quicker')
    expect({ ...next, relaunches }).toMatchObject({ relaunches: node.id, succession: 'booting', status: 'active' })
    await lifecycle.broker(next.id)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', generation: 1 })
    expect(await lifecycle.retrieve(child.id)).toMatchObject({ status: 'active' })

    const { broker } = await lifecycle.bound(next.id)
    await until(next.id, 'taken_over')

    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'done' })
    expect(await lifecycle.retrieve(child.id)).toMatchObject({ status: 'canceled' })
    const { mail } = await broker.claim()
    expect(kinds(mail)).toEqual(['kickoff', 'prompt'])
    expect(bodies(mail)[0]).toContain('hold the fort')
    for (const id of [node.id, next.id]) {
      const types = (await lifecycle.typesOf(id)).filter((type) => type.startsWith('node.relaunch'))
      expect(types).toEqual(['node.relaunching', 'node.relaunched'])
    }
  })

  it('spares a child that somebody else watches: it works for the new root', async () => {
    const { node } = await resting()
    const { node: child } = await agent({ parent_id: node.id })
    const { node: watcher } = await resting()
    await lifecycle.database.query(
      `SET svc.epoch = '${(await lifecycle.call('lifecycle.status', {})).epoch}';
       INSERT INTO canvas.subscriptions (subscriber, publisher, mode) VALUES ('${watcher.id}', '${child.id}', 'active')`,
    )
    const { node: next } = await relaunch(node.id)
    await lifecycle.bound(next.id)
    await until(next.id, 'taken_over')
    expect(await lifecycle.retrieve(child.id)).toMatchObject({ status: 'active', parent_id: next.id })
    expect(await watchersOf(child.id)).toEqual([next.id, watcher.id].sort())
  })

  it('goes on after a restart of the writer in the middle', async () => {
    const { node } = await atWork()
    const { node: next } = await relaunch(node.id)
    const played = await lifecycle.broker(next.id)
    await lifecycle.stopService()
    await lifecycle.another()
    await waitFor(async () => (await lifecycle.host.hello().catch(() => null)) !== null)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active' })
    await played.bind()
    await until(next.id, 'taken_over')
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'done' })
  })

  it('fails when the new root never comes to life, and has changed nothing', async () => {
    const { node } = await atWork()
    const child = await lifecycle.create({ parent_id: node.id })
    const { node: next } = await relaunch(node.id)
    await until(next.id, 'failed')
    expect(await lifecycle.retrieve(next.id)).toMatchObject({ status: 'dead' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', generation: 1 })
    expect(await lifecycle.retrieve(child.id)).toMatchObject({ parent_id: node.id })
    expect(await lifecycle.typesOf(node.id)).toContain('node.relaunch_failed')
    expect(await relaunch(node.id)).toMatchObject({ node: { succession: 'booting' } })
  })

  // Whoever closes a root while another one boots for it wants neither.
  it('of a root that is canceled meanwhile ends the new one too', async () => {
    const { node } = await atWork()
    const { node: next } = await relaunch(node.id)
    await lifecycle.broker(next.id)
    await lifecycle.call('nodes.cancel', { id: node.id })
    await until(next.id, 'failed')
    expect(await lifecycle.retrieve(next.id)).toMatchObject({ status: 'canceled' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'canceled' })
  })

  it('is refused while one is under way', async () => {
    const { node } = await atWork()
    const { node: next } = await relaunch(node.id)
    expect(await failure(relaunch(node.id))).toMatchObject({ fields: { state: 'relaunching', event: 'relaunch' } })
    expect(await failure(recycle(node.id))).toMatchObject({ fields: { state: 'relaunching', event: 'recycle' } })
    expect(await failure(recycle(next.id))).toMatchObject({ fields: { state: 'booting', event: 'recycle' } })
  })
})
