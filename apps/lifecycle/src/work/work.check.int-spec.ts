import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { newId } from '#common/kernel/ids.js'
import { LifecycleUnderTest, nodeContext, ownerContext, ready } from '../../../../test/support/lifecycle-service.js'
import { Asking, byApp, byNode, byOwner, command, held, message, newNode } from './work.fixture.js'

let lifecycle: LifecycleUnderTest
let asking: Asking
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  asking = new Asking(lifecycle)
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

const appNode = async (appId: string) => {
  await asking.grant(appId, [...held, 'svc:files:rw:user:/tmp'])
  const actor = { kind: 'app' as const, principal: `app:${appId}`, tokenId: 'tok_2', appId }
  return lifecycle.create({}, ownerContext({ actor: { ...actor, scopes: [...held, 'svc:files:rw:user:/tmp'] } }))
}

describe('a check', () => {
  it('that passes says whose the work is, and writes nothing', async () => {
    const root = await lifecycle.create()
    const child = await lifecycle.create({ parent_id: root.id })
    await Promise.all([lifecycle.broker(root.id), lifecycle.broker(child.id)])
    const launches = lifecycle.host.launches.length
    const before = await Promise.all(['nodes', 'mail', 'events', 'works'].map((name) => asking.count(`canvas.${name}`)))

    const none = { owner_path: [], app_id: null, profile: null }
    expect(await asking.check(byOwner, newNode())).toEqual(none)
    expect(await asking.check(byOwner, message(child.id))).toEqual(none)
    expect(await asking.check(byOwner, command('/root'))).toEqual(none)
    const whole = { owner_path: [child.id, root.id], app_id: null, profile: null }
    for (const action of [newNode(), message(child.id), message(root.id), command('/tmp')]) {
      expect(await asking.check(byNode(child.id), action)).toEqual(whole)
    }

    const after = await Promise.all(['nodes', 'mail', 'events', 'works'].map((name) => asking.count(`canvas.${name}`)))
    expect(after).toEqual(before)
    expect(lifecycle.host.launches).toHaveLength(launches)
  })

  it('of an app and of its nodes names the app and the profile', async () => {
    const appId = newId('app')
    const node = await appNode(appId)
    expect(await asking.check(byNode(node.id), message(node.id))).toEqual({
      owner_path: [node.id],
      app_id: appId,
      profile: null,
    })
    expect(await asking.check(byApp(appId, held, 'home'), message(node.id)).catch(({ code }) => code)).toBe('not_found')
    expect(await asking.check(byApp(appId), message(node.id))).toEqual({ owner_path: [], app_id: appId, profile: null })
  })
})

describe('an authority', () => {
  const refusal = async (by: Parameters<Asking['check']>[0], action = newNode()) => failure(asking.check(by, action))

  it('whose node is gone or was canceled is refused', async () => {
    const { id } = await lifecycle.create()
    expect(await refusal(byNode(newId('node')))).toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/gone/),
    })
    await lifecycle.call('nodes.cancel', { id })
    expect(await refusal(byNode(id), message(id))).toMatchObject({
      code: 'illegal_transition',
      message: expect.stringMatching(/canceled/),
    })
  })

  it('is worth no more than the token held, nor than its node may now', async () => {
    const narrow = await lifecycle.create({ scopes: ['svc:llm', 'svc:schedule'] })
    const wide = await lifecycle.create()
    const missing = { code: 'scope_missing', fields: { scope: 'svc:act' } }
    expect(await refusal(byNode(narrow.id))).toMatchObject(missing)
    expect(await refusal(byNode(wide.id, ['svc:schedule']))).toMatchObject(missing)
    expect(await refusal(byNode(wide.id, ['svc:schedule']), message(narrow.id))).toMatchObject(missing)
    expect(await refusal(byNode(wide.id, ['svc:schedule']), command('/tmp'))).toMatchObject(missing)
    expect(await refusal(byNode(wide.id, ['svc:act', 'svc:llm']), message(wide.id))).toMatchObject({
      code: 'scope_missing',
      fields: { scope: 'svc:schedule' },
    })
    expect(await refusal({ ...byOwner, scopes: ['svc:llm'] })).toMatchObject({ fields: { scope: 'svc:schedule' } })
  })

  it('with the scope for schedules alone reminds its own node', async () => {
    const { id } = await lifecycle.create({ scopes: ['svc:schedule'] })
    expect(await asking.check(byNode(id, ['svc:schedule']), message(id))).toMatchObject({ owner_path: [id] })
  })

  it('of an app is held to its grant: as narrow as that is, refused when it is revoked, asked again while it is unknown', async () => {
    const appId = newId('app')
    expect(await refusal(byApp(appId))).toMatchObject({ code: 'service_unavailable', facts: { retryable: true } })
    await asking.grant(appId, ['svc:llm', 'svc:schedule'])
    expect(await refusal(byApp(appId))).toMatchObject({ code: 'scope_missing', fields: { scope: 'svc:act' } })
    await asking.grant(appId, held, { version: 2, profiles: ['home'] })
    expect(await refusal(byApp(appId, held, 'work'))).toMatchObject({
      code: 'grant_revoked',
      fields: { app_id: appId },
    })
    await asking.grant(appId, held, { version: 3, status: 'revoked' })
    expect(await refusal(byApp(appId))).toMatchObject({ code: 'grant_revoked' })
  })

  it('of a node whose app lost its grant is refused', async () => {
    const appId = newId('app')
    const { id } = await appNode(appId)
    await asking.grant(appId, held, { version: 2, status: 'revoked' })
    expect(await refusal(byNode(id), message(id))).toMatchObject({ code: 'grant_revoked' })
  })
})

describe('a node that is to be made', () => {
  const refusal = async (more: Record<string, unknown>, by = byOwner) => failure(asking.check(by, newNode(more)))

  it('is refused for what its creation would be refused', async () => {
    const { id } = await lifecycle.create({ scopes: ['svc:act', 'svc:llm', 'svc:schedule'] })
    const by = byNode(id)
    expect(await refusal({ scopes: ['svc:files:rw:user:/etc'] }, by)).toMatchObject({ code: 'scope_exceeds_ceiling' })
    expect(await refusal({ cwd: '/etc' }, by)).toMatchObject({ code: 'path_outside_scope' })
    expect(await refusal({ kind: 'nobody' })).toMatchObject({ code: 'validation_failed' })
    expect(await refusal({ cwd: undefined })).toMatchObject({ code: 'validation_failed' })
    expect(await refusal({ env_profile: 'nowhere' })).toMatchObject({ code: 'not_found' })
    expect(await refusal({ parent_id: newId('node') })).toMatchObject({ code: 'not_found' })
    expect(await refusal({ result_schema: { type: 'nothing' } })).toMatchObject({ code: 'validation_failed' })
    const loop = { engine: 'loop', exec: undefined }
    expect(await refusal({ ...loop, model: { strength: 'strong' } })).toMatchObject({ code: 'model_not_configured' })
    lifecycle.models.readiness = ready
  })

  it('is not made below a node that was canceled, nor outside of the tree of who asks', async () => {
    const [ended, mine] = [await lifecycle.create(), await lifecycle.create()]
    await lifecycle.call('nodes.cancel', { id: ended.id })
    expect(await refusal({ parent_id: ended.id })).toMatchObject({ code: 'illegal_transition' })
    const other = await lifecycle.create()
    expect(await refusal({ parent_id: other.id }, byNode(mine.id))).toMatchObject({ code: 'not_found' })
  })

  it('is refused where its depth would be too great', async () => {
    let { id } = await lifecycle.create()
    for (let depth = 1; depth <= 10; depth += 1) {
      const made = await lifecycle.create({ parent_id: id }).catch(() => undefined)
      if (!made) break
      id = made.id
    }
    expect(await refusal({}, byNode(id))).toMatchObject({ code: 'quota_exceeded' })
  })
})

describe('a message', () => {
  it('goes to whom the authority reaches, and to nobody who was canceled', async () => {
    const [mine, other] = [await lifecycle.create(), await lifecycle.create()]
    const child = await lifecycle.create({ parent_id: mine.id })
    expect(await asking.check(byNode(child.id), message(mine.id))).toMatchObject({ owner_path: [child.id, mine.id] })
    expect(await failure(asking.check(byNode(child.id), message(other.id)))).toMatchObject({ code: 'not_found' })
    expect(await failure(asking.check(byOwner, message(newId('node'))))).toMatchObject({ code: 'not_found' })
    await lifecycle.call('nodes.cancel', { id: other.id })
    expect(await failure(asking.check(byOwner, message(other.id)))).toMatchObject({ code: 'illegal_transition' })
  })
})

describe('a command', () => {
  it('is run where its node sees, and by no app itself', async () => {
    const { id } = await lifecycle.create({ cwd: '/var', scopes: [...held, 'svc:files:read:user:/opt'] })
    const by = byNode(id, [...held, 'svc:files:read:user:/opt'])
    for (const cwd of ['/var/log', '/opt/x', '/tmp']) expect(await asking.check(by, command(cwd))).toBeDefined()
    expect(await failure(asking.check(by, command('/etc')))).toMatchObject({ code: 'path_outside_scope' })
    expect(await failure(asking.check(by, command('/var/../etc')))).toMatchObject({ code: 'path_outside_scope' })
    const appId = newId('app')
    await asking.grant(appId, held)
    expect(await failure(asking.check(byApp(appId), command('/tmp')))).toMatchObject({ code: 'node_token_required' })
  })
})

describe('an event that is published', () => {
  const publication = { type: 'publish' as const, ref: 'clock', event: 'tick', payload: {} }

  it('is an act, of which objects says the rest, and nothing that is begun here', async () => {
    const { id } = await lifecycle.create()
    expect(await asking.check(byNode(id), publication)).toMatchObject({ owner_path: [id] })
    expect(await failure(asking.check(byNode(id, ['svc:schedule']), publication))).toMatchObject({
      code: 'scope_missing',
      fields: { scope: 'svc:act' },
    })
    const started = asking.start(byNode(id), publication)
    expect(await failure(started)).toMatchObject({ code: 'validation_failed' })
  })

  it('is that of the app of its node, whoever made the schedule', async () => {
    const appId = newId('app')
    const node = await appNode(appId)
    expect(await asking.actor(byNode(node.id))).toMatchObject({ app_id: appId, profile: null })
  })
})

describe('the actor of a command', () => {
  it('is the node as it stands', async () => {
    const { node } = await lifecycle.running({ cwd: '/var' })
    expect(await asking.actor(byNode(node.id, ['svc:act', 'svc:schedule']))).toEqual({
      scopes: ['svc:act', 'svc:schedule'],
      place: { cwd: '/var', host_id: lifecycle.host.hostId, git_dir: null },
      generation: 1,
      app_id: null,
      profile: null,
    })
    expect(await asking.actor(byOwner)).toMatchObject({ scopes: ['*'], place: null, generation: null })
    expect(await failure(asking.actor(byNode(node.id, ['svc:schedule'])))).toMatchObject({ code: 'scope_missing' })
    await lifecycle.call('nodes.cancel', { id: node.id }, nodeContext(node.id))
    expect(await failure(asking.actor(byNode(node.id)))).toMatchObject({ code: 'illegal_transition' })
  })
})
