import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext } from '../../../../test/support/lifecycle-service.js'

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
