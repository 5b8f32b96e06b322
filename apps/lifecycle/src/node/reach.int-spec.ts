import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'

describe('where a node lets another work', () => {
  let lifecycle: LifecycleUnderTest
  let maker: Awaited<ReturnType<LifecycleUnderTest['create']>>
  const scopes = ['svc:act', 'svc:llm', 'svc:files:rw:user:/notes', 'svc:files:read:user:/photos']
  const byMaker = (more: Record<string, unknown>) =>
    lifecycle.create({ parent_id: maker.id, ...more }, nodeContext(maker.id, 1, { scopes }))

  beforeAll(async () => {
    lifecycle = await LifecycleUnderTest.start()
    maker = await lifecycle.create({ cwd: '/srv/project', scopes })
  })
  afterAll(() => lifecycle.stop())

  it('is its own directory, one inside of it, or one that it may write by a scope', async () => {
    for (const cwd of [undefined, '/srv/project', '/srv/project/sub/', '/notes/today']) await byMaker({ cwd })
  })

  it('is nowhere else, however it is spelled, also for a root and below a node of its own', async () => {
    const child = await byMaker({})
    for (const cwd of ['/', '/srv', '/srv/project2', '/srv/project/../secret', '/photos', '/root']) {
      await expect(byMaker({ cwd })).rejects.toMatchObject({ code: 'path_outside_scope' })
      await expect(byMaker({ cwd, parent_id: child.id })).rejects.toMatchObject({ code: 'path_outside_scope' })
      await expect(byMaker({ cwd, parent_id: undefined, root: true })).rejects.toMatchObject({
        code: 'path_outside_scope',
      })
    }
  })

  it('is not where the owner put a node below it', async () => {
    const child = await lifecycle.create({ parent_id: maker.id, cwd: '/elsewhere' })
    await expect(byMaker({ parent_id: child.id })).rejects.toMatchObject({ code: 'path_outside_scope' })
  })

  it('is told to the host, which follows links, with all nodes behind its making', async () => {
    const child = await byMaker({})
    const grandchild = await lifecycle.create({ parent_id: child.id }, nodeContext(child.id, 1, { scopes }))
    const [launch] = await waitFor(() => {
      const launches = lifecycle.host.launchesOf(grandchild.id)
      return launches.length > 0 && launches
    })
    expect(launch?.makers.map(({ node_id, cwd }) => [node_id, cwd])).toEqual([
      [child.id, '/srv/project'],
      [maker.id, '/srv/project'],
    ])
  })
})

describe('where an application lets a node work', () => {
  let lifecycle: LifecycleUnderTest
  const appId = newId('app')
  const principal = `app:${appId}`
  const acting = ['svc:act', 'svc:llm']
  const scopes = [...acting, 'svc:files:rw:user:/srv/app', 'svc:files:read:user:/photos']
  const byApp = (more: Record<string, unknown>, held: readonly string[] = scopes) =>
    lifecycle.create(
      { scopes: acting, ...more },
      ownerContext({ actor: { kind: 'app', principal, tokenId: 'tok_1', scopes: [...held], appId } }),
    )
  const outside = { code: 'path_outside_scope' }

  beforeAll(async () => {
    lifecycle = await LifecycleUnderTest.start()
    const grant = { app_id: appId, scopes, profiles: null, version: 1, status: 'active' as const }
    await lifecycle.call('lifecycle.grant.changed', { grants: [grant] })
  })
  afterAll(() => lifecycle.stop())

  it('is inside of what it may write, and nowhere else of the person’s', async () => {
    for (const cwd of ['/srv/app', '/srv/app/sub/']) await byApp({ cwd })
    for (const cwd of ['/', '/srv', '/srv/app2', '/srv/app/../secret', '/photos', '/root'])
      await expect(byApp({ cwd })).rejects.toMatchObject(outside)
  })

  it('is nowhere without a scope that says where', async () => {
    await expect(byApp({ cwd: '/srv/app' }, acting)).rejects.toMatchObject(outside)
  })

  it('is where a node of its own works, but not where the owner put one below that', async () => {
    const root = await byApp({ cwd: '/srv/app/own' })
    await byApp({ parent_id: root.id }, acting)
    const put = await lifecycle.create({ parent_id: root.id, cwd: '/elsewhere' })
    await expect(byApp({ parent_id: put.id })).rejects.toMatchObject(outside)
  })

  it('is told to the host, which follows links, with what it was granted', async () => {
    const root = await byApp({ cwd: '/srv/app' })
    const child = await lifecycle.create({ parent_id: root.id }, nodeContext(root.id, 1, { scopes: acting, appId }))
    const [launch] = await waitFor(() => {
      const launches = lifecycle.host.launchesOf(child.id)
      return launches.length > 0 && launches
    })
    expect(launch?.makers).toEqual([
      { node_id: root.id, cwd: '/srv/app', scopes: acting },
      { node_id: null, cwd: null, scopes },
    ])
  })
})
