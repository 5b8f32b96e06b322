import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ProfileDefaults } from '#common/contract/profile.schema.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import type { Context } from '#common/kernel/context.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const exec = { argv: ['cat'], stdin: 'jsonl' as const }
const ensure = (name: string, body: Record<string, unknown> = {}) =>
  lifecycle.call('profiles.ensure', { name, defaults: {}, app_id: null, ...body })
const retrieve = (name: string, ctx?: Context) => lifecycle.call('profiles.retrieve', { name }, ctx)
const ofApp = (appId: string): Context =>
  ownerContext({ actor: { kind: 'app', principal: `app:${appId}`, tokenId: 'tok_2', scopes: ['svc:act'], appId } })

describe('profiles.ensure', () => {
  it('makes a profile, and leaves it alone when it is told the same again', async () => {
    const defaults: ProfileDefaults = { kind: 'review', model: { strength: 'strong' }, scopes: ['svc:llm'] }
    const made = await ensure('reviewer', { display_name: 'Reviewer', defaults })
    expect(made).toMatchObject({ name: 'reviewer', display_name: 'Reviewer', defaults, app_id: null, version: 1 })
    expect(await ensure('reviewer', { display_name: 'Reviewer', defaults })).toEqual(made)
    expect(await retrieve('reviewer')).toEqual(made)
  })

  it('raises the version with each change', async () => {
    await ensure('worker')
    const changed = await ensure('worker', { defaults: { kind: 'develop' } })
    expect(changed).toMatchObject({ version: 2, display_name: 'worker', defaults: { kind: 'develop' } })
  })

  it('makes it once when many do at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => ensure('crowd', { defaults: { kind: 'plan' } })))
    expect(new Set(all.map(({ version, created_at }) => `${version} ${created_at}`)).size).toBe(1)
  })

  it('changes it only at the version that the caller names', async () => {
    await ensure('held', { if_match: 0 })
    expect(await failure(ensure('held', { defaults: { kind: 'plan' }, if_match: 0 }))).toMatchObject({
      code: 'precondition_failed',
      fields: { version: 1 },
    })
    expect(await ensure('held', { defaults: { kind: 'plan' }, if_match: 1 })).toMatchObject({ version: 2 })
    expect(await failure(ensure('absent', { if_match: 3 }))).toMatchObject({ code: 'precondition_failed' })
    expect(await failure(retrieve('absent'))).toMatchObject({ code: 'not_found' })
  })

  it.each([
    [{ engine: 'exec' }, '/defaults/exec'],
    [{ exec }, '/defaults/exec'],
    [{ scopes: ['*'] }, '/defaults/scopes'],
    [{ scopes: ['svc:act'] }, '/scopes'],
  ])('refuses defaults that no node could have: %j', async (defaults, pointer) => {
    expect(await failure(ensure('bad', { defaults }))).toMatchObject({
      code: 'validation_failed',
      fields: { errors: [{ pointer }] },
    })
  })
})

describe('profiles.retrieve', () => {
  it('shows the profile of an application to the owner and to that application alone', async () => {
    await ensure('theirs', { app_id: 'app-1' })
    expect(await retrieve('theirs')).toMatchObject({ app_id: 'app-1' })
    expect(await retrieve('theirs', ofApp('app-1'))).toMatchObject({ app_id: 'app-1' })
    expect(await failure(retrieve('theirs', ofApp('app-2')))).toMatchObject({ code: 'not_found' })
    expect(await failure(retrieve('theirs', nodeContext('node_01jd0000000000000000000000')))).toMatchObject({
      code: 'not_found',
    })
  })
})

describe('a node that is made with a profile', () => {
  it('has its defaults where its own body says nothing', async () => {
    await ensure('exec-review', {
      defaults: {
        engine: 'exec',
        exec,
        kind: 'review',
        mode: 'orchestrator',
        lifecycle: 'terminal',
        cwd: '/tmp',
        scopes: ['svc:llm'],
      },
    })
    const node = await lifecycle.call('nodes.create', { prompt: 'go', env_profile: 'exec-review', kind: 'plan' })
    expect(node).toMatchObject({
      env_profile: 'exec-review',
      kind: 'plan',
      mode: 'orchestrator',
      lifecycle: 'terminal',
      cwd: '/tmp',
      engine: 'exec',
      exec,
      scopes: ['svc:llm'],
      scopes_explicit: true,
    })
  })

  it('stays as it was made when the profile changes; the next one is made as the profile says then', async () => {
    await ensure('changing', { defaults: { engine: 'exec', exec, cwd: '/tmp', kind: 'plan' } })
    const first = await lifecycle.call('nodes.create', { prompt: 'go', env_profile: 'changing' })
    await ensure('changing', { defaults: { engine: 'exec', exec, cwd: '/tmp', kind: 'explore' } })
    expect(await lifecycle.retrieve(first.id)).toMatchObject({ kind: 'plan' })
    expect(await lifecycle.call('nodes.create', { prompt: 'go', env_profile: 'changing' })).toMatchObject({
      kind: 'explore',
    })
  })

  it('is refused when there is no such profile, and when the profile gives more than its maker has', async () => {
    const absent = lifecycle.call('nodes.create', { prompt: 'go', env_profile: 'nobody', cwd: '/tmp' })
    expect(await failure(absent)).toMatchObject({ code: 'not_found', fields: { resource: 'profile' } })
    await ensure('mighty', { defaults: { engine: 'exec', exec, scopes: ['svc:llm', 'svc:act', 'svc:schedule'] } })
    const parent = await lifecycle.create({ scopes: ['svc:llm', 'svc:act'] })
    const made = lifecycle.call(
      'nodes.create',
      { prompt: 'go', env_profile: 'mighty' },
      nodeContext(parent.id, 1, { scopes: parent.scopes }),
    )
    expect(await failure(made)).toMatchObject({ code: 'scope_exceeds_ceiling', fields: { scopes: ['svc:schedule'] } })
  })

  it('is made once under one key, also when the profile is changed in between', async () => {
    await ensure('keyed', { defaults: { engine: 'exec', exec, cwd: '/tmp', kind: 'plan' } })
    const ctx = ownerContext({ idempotencyKey: 'profiled' })
    const body = { prompt: 'go', env_profile: 'keyed' }
    const first = await lifecycle.call('nodes.create', body, ctx)
    await ensure('keyed', { defaults: { engine: 'exec', exec, kind: 'review' } })
    expect(await lifecycle.call('nodes.create', body, ctx)).toEqual(first)
  })
})
