import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { systemContext } from '#common/kernel/context.js'
import { newId } from '#common/kernel/ids.js'
import type { TestPeer } from '#common/testing/bus.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, ownerContext, said, started } from '../../../../test/support/lifecycle-service.js'

const act = ['svc:act', 'svc:files:rw:user:/tmp', 'svc:llm', 'svc:schedule']
const loop = { engine: 'loop', exec: undefined, lifecycle: 'terminal' } as const

let lifecycle: LifecycleUnderTest
let models: TestPeer

beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  models = await lifecycle.joinModels()
})
afterAll(async () => {
  await models.close()
  await lifecycle.stop()
})

interface Told {
  readonly scopes?: readonly string[]
  readonly version?: number
  readonly status?: 'active' | 'revoked'
  readonly profiles?: readonly string[] | null
}

/** As the gateway tells it. */
const tell = (appId: string, { scopes = act, version = 1, status = 'active', profiles = null }: Told = {}) =>
  lifecycle.call(
    'lifecycle.grant.changed',
    { grants: [{ app_id: appId, scopes, version, status, profiles }] },
    systemContext('gateway'),
  )

const appContext = (appId: string, profile?: string) =>
  ownerContext({
    actor: {
      kind: 'app',
      principal: `app:${appId}`,
      tokenId: 'tok_2',
      scopes: act,
      appId,
      ...(profile !== undefined && { profile }),
    },
  })

const granted = async (told: Told = {}): Promise<string> => {
  const appId = newId('app')
  await tell(appId, told)
  return appId
}

const launch = (id: string) => lifecycle.host.launchesOf(id).at(-1)
const launches = (id: string): number => lifecycle.host.launchesOf(id).length

const heldFor = (id: string, hold: string) =>
  waitFor(
    async () => {
      const node = await lifecycle.retrieve(id)
      return node.fault?.held_for === hold ? node : null
    },
    { what: `${id} to be held for its ${hold}` },
  )

describe('the copy of a grant', () => {
  it('takes what is newer, and once', async () => {
    const appId = newId('app')
    expect(await tell(appId, { version: 2 })).toEqual({ noted: 1 })
    expect(await tell(appId, { version: 2 })).toEqual({ noted: 0 })
    expect(await tell(appId, { version: 1, status: 'revoked' })).toEqual({ noted: 0 })
    const [row] = await lifecycle.database.query('SELECT * FROM canvas.grants WHERE app_id = $1', [appId])
    expect(row).toMatchObject({ version: '2', status: 'active', scopes: act })
  })
})

describe('a node of an app', () => {
  it('is launched with what its list and the grant both hold', async () => {
    const appId = await granted()
    const { node, assignment } = await lifecycle.running({}, appContext(appId))
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ app_id: appId, scopes: act })
    expect([launch(node.id)?.scopes, assignment.scopes]).toEqual([act, act])
  })

  it('whose app is not known here yet rests, says so, and is launched when it is', async () => {
    const appId = newId('app')
    const { id } = await lifecycle.create({}, appContext(appId))
    const held = await heldFor(id, 'grant')
    expect(held).toMatchObject({ status: 'active', broker: null, fault: { kind: 'grant' } })
    expect(launches(id)).toBe(0)
    await tell(appId)
    await waitFor(() => launches(id) === 1)
  })

  // It was refused for good as if the grant were revoked, though nobody had said so.
  it('whose app is not known here yet has its job started when it is', async () => {
    const appId = newId('app')
    const { id } = await lifecycle.create({}, appContext(appId))
    await heldFor(id, 'grant')
    const job = await lifecycle.call('nodes.jobs.start', { id, command: 'sleep 600' }, appContext(appId))
    await lifecycle.host.hello()
    expect(lifecycle.host.jobs.get(job.id)).toBeUndefined()
    await tell(appId)
    await lifecycle.host.hello()
    await waitFor(() => lifecycle.host.jobs.get(job.id)?.running)
  })

  it('whose profile the grant is not for rests', async () => {
    const appId = await granted({ profiles: ['work'] })
    const { id } = await lifecycle.create({}, appContext(appId, 'home'))
    await heldFor(id, 'grant')
    await tell(appId, { version: 2, profiles: ['home', 'work'] })
    await waitFor(() => launches(id) === 1)
  })

  it('wakes with what the grant holds by then', async () => {
    const appId = await granted()
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'resident' }, appContext(appId))
    await broker.turn(1, assignment.mail)
    await lifecycle.until(node.id, 'idle')
    await tell(appId, { version: 2, scopes: ['svc:llm'] })
    await lifecycle.message(node.id, 'again')
    await waitFor(() => launches(node.id) === 2)
    expect(launch(node.id)?.scopes).toEqual(['svc:llm'])
    // its own list is what it was made with: it comes back with the grant
    expect((await lifecycle.retrieve(node.id)).scopes).toEqual(act)
  })

  it('that is forked or followed by a new root is held to the grant all the same', async () => {
    const appId = await granted()
    const { id } = await lifecycle.create({}, appContext(appId))
    await tell(appId, { version: 2, scopes: ['svc:llm'] })
    const { node: root } = await lifecycle.call('nodes.recycle', { id })
    await waitFor(() => launches(root.id) > 0)
    expect(launch(root.id)?.scopes).toEqual(['svc:llm'])
  })
})

describe('a grant that is narrowed', () => {
  it('in its files ends a process whose mounts are too wide, and the next one has less', async () => {
    const appId = await granted()
    const { node } = await lifecycle.running(loop, appContext(appId))
    await lifecycle.host.hello()
    await tell(appId, { version: 2, scopes: ['svc:act', 'svc:llm'] })
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(assignment.scopes).toEqual(['svc:act', 'svc:llm'])
    expect(launch(node.id)).toMatchObject({ generation: 2, scopes: ['svc:act', 'svc:llm'] })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', fault: null })
  })

  it('in its shell does so for a node that has one', async () => {
    const appId = await granted()
    const { node } = await lifecycle.running(loop, appContext(appId))
    await lifecycle.host.hello()
    await tell(appId, { version: 2, scopes: ['svc:llm', 'svc:files:rw:user:/tmp'] })
    await lifecycle.bound(node.id, 2)
  })

  it('ends the jobs that have more than is left, of a node that rests too', async () => {
    const appId = await granted()
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'resident' }, appContext(appId))
    const job = await lifecycle.call('nodes.jobs.start', { id: node.id, command: 'sleep 600' }, appContext(appId))
    await waitFor(() => lifecycle.host.jobs.get(job.id)?.running)
    await broker.turn(1, assignment.mail)
    await lifecycle.until(node.id, 'idle')
    lifecycle.host.brokers.delete(node.id)
    await tell(appId, { version: 2, scopes: ['svc:act', 'svc:llm'] })
    await waitFor(() => lifecycle.host.jobCancels.includes(job.id))
  })

  it('in what every call asks for leaves the process alone', async () => {
    const appId = await granted()
    const [thinking, program] = [
      await lifecycle.running(loop, appContext(appId)),
      await lifecycle.running({}, appContext(appId)),
    ]
    await lifecycle.host.hello()
    const other = await lifecycle.running(loop, appContext(await granted()))
    await tell(appId, { version: 2, scopes: act.filter((scope) => scope !== 'svc:schedule') })
    // a program has no shell of its daemon's to lose
    await tell(appId, { version: 3, scopes: ['svc:llm', 'svc:act', 'svc:files:rw:user:/tmp'] })
    await other.broker.turn(1, other.assignment.mail, { final: 'done' })
    await lifecycle.until(other.node.id, 'done')
    for (const { node } of [thinking, program]) {
      expect(await lifecycle.retrieve(node.id)).toMatchObject({ generation: 1, broker: { pid: expect.any(Number) } })
    }
  })
})

describe('a grant that is revoked', () => {
  it('holds a node that had mounts of it, at once, and gives it back when it is given back', async () => {
    const appId = await granted()
    const { node } = await lifecycle.running(loop, appContext(appId))
    await lifecycle.host.hello()
    await tell(appId, { version: 2, status: 'revoked' })
    const held = await heldFor(node.id, 'grant')
    expect(held.fault).toMatchObject({ kind: 'grant', message: expect.stringContaining(appId) })
    expect(held.fault?.retry_at).toBeUndefined()
    await waitFor(() => lifecycle.host.stops.some((stop) => stop.node_id === node.id && stop.generation === 1))
    await tell(appId, { version: 3 })
    await lifecycle.bound(node.id)
    expect(await lifecycle.typesOf(node.id)).toEqual(expect.arrayContaining(['node.fault', 'node.launching']))
  })

  it('holds a node whose model call was refused for it, and tells those who wait', async () => {
    const appId = await granted()
    const parent = await lifecycle.create({ lifecycle: 'resident' }, appContext(appId))
    // without mounts and without a shell: nothing but its calls is to be cut
    const child = { ...loop, parent_id: parent.id, scopes: ['svc:llm'] }
    const { node, broker, assignment } = await lifecycle.running(child, appContext(appId))
    await lifecycle.host.hello()
    await tell(appId, { version: 2, status: 'revoked' })
    await heldFor(parent.id, 'grant')
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ generation: 1, fault: null })
    await broker.append(started(1, assignment.mail), said(1, 1), {
      type: 'turn_ended',
      turn: 1,
      status: 'failed',
      fault: { kind: 'grant', message: 'The grant of the app was revoked' },
    })
    await heldFor(node.id, 'grant')
    expect(JSON.stringify(await lifecycle.recorded(parent.id))).toContain('the grant of its app')
    const { items } = await lifecycle.call('canvas.attention', { limit: 200 })
    expect(items.find(({ node_id }) => node_id === node.id)).toMatchObject({
      type: 'fault',
      fault: 'grant',
      remedy: expect.stringContaining('svc app grant'),
    })
    await tell(appId, { version: 3 })
    await lifecycle.bound(node.id, 2)
  })

  it('keeps a held node held when it is asked to try, until the grant is there', async () => {
    const appId = await granted({ status: 'revoked' })
    const { id } = await lifecycle.create({}, appContext(appId))
    await heldFor(id, 'grant')
    expect(await lifecycle.call('nodes.retry', { id })).toEqual({ retried: true })
    await waitFor(async () => {
      const { fault } = await lifecycle.retrieve(id)
      return fault?.held_for === 'grant' && fault.tries === 2
    })
    expect(launches(id)).toBe(0)
  })

  it('is held to by a writer that starts anew', async () => {
    const appId = await granted()
    lifecycle.host.silent = true
    const { node } = await lifecycle.running(loop, appContext(appId))
    await tell(appId, { version: 2, status: 'revoked' })
    await lifecycle.stopService()
    await lifecycle.another()
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ fault: null })
    lifecycle.host.silent = false
    await lifecycle.host.hello()
    await heldFor(node.id, 'grant')
  })
})
