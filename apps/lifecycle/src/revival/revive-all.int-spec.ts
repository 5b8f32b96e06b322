import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { LifecycleUnderTest, ownerContext } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start({ settings: { SVC_LAUNCH_BUDGET: 1 } })
})
afterAll(() => lifecycle.stop())

const loop = { engine: 'loop', exec: undefined } as const
const reviveAll = (body: Record<string, unknown> = {}, ctx = ownerContext()) =>
  lifecycle.call('nodes.reviveAll', { confirm: false, limit: 50, ...body }, ctx)

/** A node whose process was lost once too often. */
const dead = async (more = {}) => {
  const { node } = await lifecycle.running(more)
  await lifecycle.host.lose(node.id, 1)
  await lifecycle.until(node.id, 'dead')
  return node
}

/** A node that rests, owes a report and has done nothing for a while. */
const hanging = async (more = {}) => {
  const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'terminal', ...more })
  await broker.turn(1, assignment.mail, { status: 'interrupted' })
  await aged(node.id)
  return node
}

const aged = (id: string) =>
  lifecycle.database.query(
    "SET session_replication_role = replica; UPDATE canvas.nodes SET updated_at = updated_at - interval '1 hour' WHERE id = '" +
      id +
      "'",
  )

describe('revive-all', () => {
  it('lists what owes work that nobody does, and why, and changes nothing', async () => {
    const root = await lifecycle.create()
    const [fallen, hangs] = [await dead({ parent_id: root.id }), await hanging({ parent_id: root.id })]
    const done = await lifecycle.running({ parent_id: root.id })
    await done.broker.turn(1, done.assignment.mail, { final: 'there' })
    await lifecycle.create({ parent_id: root.id })
    const answer = await reviveAll({ under: root.id })
    expect(answer).toMatchObject({
      nodes: [
        { id: fallen.id, status: 'dead', fault: 'crash_loop', reason: expect.stringContaining('dead'), usable: true },
        { id: hangs.id, status: 'idle', fault: null, reason: 'it owes a report and waits for nothing' },
      ],
      revived: [],
      has_more: false,
    })
    expect(await lifecycle.retrieve(fallen.id)).toMatchObject({ status: 'dead' })
  })

  it('brings back an agent with word of what happened, and a program with what it was made for', async () => {
    const root = await lifecycle.create()
    const agent = await dead({ parent_id: root.id, ...loop })
    const program = await dead({ parent_id: root.id, prompt: 'sort it' })
    const { revived } = await reviveAll({ under: root.id, confirm: true })
    expect(revived).toEqual([agent.id, program.id])
    const first = await lifecycle.bound(agent.id, 2)
    expect(first.assignment).toMatchObject({ engagement: 2, mail: [{ kind: 'prompt' }, { kind: 'notice' }] })
    expect(first.assignment.mail[1]?.body).toContain('You were brought back')
    const second = await lifecycle.bound(program.id, 2)
    expect(second.assignment.mail.at(-1)).toMatchObject({ kind: 'prompt', body: 'sort it' })
    expect((await reviveAll({ under: root.id })).nodes).toEqual([])
  })

  // Fault 40: after an outage everything once came back at the same moment.
  it('launches them one after another, also when the writer dies right after the commit', async () => {
    const root = await lifecycle.create()
    const made = []
    for (let at = 0; at < 4; at += 1) made.push(await dead({ parent_id: root.id }))
    await reviveAll({ under: root.id, confirm: true })
    const rows = await lifecycle.database.query<{ at: Date | null; since: Date }>(
      'SELECT next_launch_at AS at, updated_at AS since FROM canvas.nodes WHERE parent_id = $1 ORDER BY id',
      [root.id],
    )
    const delays = rows.map(({ at, since }) => (at ? at.getTime() - since.getTime() : 0))
    expect(delays).toEqual([0, 200, 400, 600])
    await lifecycle.stopService()
    await lifecycle.another()
    await lifecycle.host.hello()
    for (const { id } of made) await lifecycle.bound(id, 2)
  })

  it('takes as many as it is told, the oldest first, and says that there are more', async () => {
    const root = await lifecycle.create()
    const [first, second] = [await dead({ parent_id: root.id }), await dead({ parent_id: root.id })]
    expect(await reviveAll({ under: root.id, limit: 1, confirm: true })).toMatchObject({
      revived: [first.id],
      has_more: true,
    })
    expect(await reviveAll({ under: root.id, limit: 1, confirm: true })).toMatchObject({
      revived: [second.id],
      has_more: false,
    })
  })

  it('repeated with its key revives nothing more', async () => {
    const root = await lifecycle.create()
    const node = await dead({ parent_id: root.id })
    const ctx = ownerContext({ idempotencyKey: 'all' })
    const once = await reviveAll({ under: root.id, confirm: true }, ctx)
    expect(await reviveAll({ under: root.id, confirm: true }, ctx)).toEqual(once)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ engagement: 2 })
  })

  it('leaves out what waits: by its own word, for a fresh context, for somebody at work', async () => {
    const root = await lifecycle.create()
    const [waits, refresh, parent] = [
      await hanging({ parent_id: root.id }),
      await hanging({ parent_id: root.id }),
      await hanging({ parent_id: root.id }),
    ]
    await lifecycle.create({ parent_id: parent.id })
    const set = (id: string, columns: string) =>
      lifecycle.database.query(
        `SET session_replication_role = replica; UPDATE canvas.nodes SET ${columns} WHERE id = '${id}'`,
      )
    await set(waits.id, 'waiting_since = now()')
    await set(refresh.id, "intent = 'refresh', refresh_asked_at = now()")
    expect((await reviveAll({ under: root.id })).nodes).toEqual([])
    expect(await lifecycle.call('canvas.attention', { under: root.id, limit: 50 })).toMatchObject({ items: [] })
    expect((await lifecycle.call('nodes.list', { under: root.id, hanging: true, limit: 50 })).data).toEqual([])
  })

  it('of a node that is not there is refused', async () => {
    expect(await failure(reviveAll({ under: 'node_01jd0000000000000000000000' }))).toMatchObject({ code: 'not_found' })
  })
})

describe('list', () => {
  it('finds the nodes that hang, and those that do not', async () => {
    const root = await lifecycle.create()
    const hangs = await hanging({ parent_id: root.id })
    const ids = async (filter: Record<string, unknown>) =>
      (await lifecycle.call('nodes.list', { under: root.id, limit: 50, ...filter })).data.map(({ id }) => id)
    expect(await ids({ hanging: true })).toEqual([hangs.id])
    expect(await ids({ hanging: false })).toEqual([root.id])
  })

  it('finds the nodes of an application, and shows another application nothing of them', async () => {
    const app = (appId: string) =>
      ownerContext({ actor: { kind: 'app', principal: `app:${appId}`, tokenId: null, scopes: ['*'], appId } })
    const node = await lifecycle.create({}, app('shop'))
    await lifecycle.create({}, app('mill'))
    const ids = async (ctx: ReturnType<typeof app>) =>
      (await lifecycle.call('nodes.list', { app: 'shop', limit: 50 }, ctx)).data.map(({ id }) => id)
    expect(await ids(ownerContext())).toEqual([node.id])
    expect(await ids(app('shop'))).toEqual([node.id])
    expect(await ids(app('mill'))).toEqual([])
  })
})
