import { afterEach, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
afterEach(() => lifecycle.stop())

describe('a process that never binds', () => {
  it('is given up after the grace, with a notice to the parent, and ended', async () => {
    lifecycle = await LifecycleUnderTest.start({ settings: { SVC_BOOT_GRACE_MS: 5000 } })
    const { node: parent, broker, assignment } = await lifecycle.running()
    await broker.turn(1, assignment.mail)
    const child = await lifecycle.create({ parent_id: parent.id })
    await lifecycle.broker(child.id)
    await lifecycle.host.hello()
    const dead = await lifecycle.until(child.id, 'dead')
    expect(dead.fault).toMatchObject({ kind: 'other' })
    expect(dead.fault?.message).toContain('within 5 s')
    await waitFor(() => lifecycle.host.stops.some(({ node_id }) => node_id === child.id))
    expect((await lifecycle.bound(parent.id, 2)).assignment.mail).toMatchObject([{ kind: 'notice', tier: 'urgent' }])
  })

  it('is waited for while its host says nothing: silence is not proof', async () => {
    lifecycle = await LifecycleUnderTest.start({ settings: { SVC_BOOT_GRACE_MS: 100 } })
    lifecycle.host.silent = true
    const node = await lifecycle.create()
    await waitFor(() => lifecycle.host.launchesOf(node.id).length === 1)
    expect(await lifecycle.outcome(node.id, 1)).toMatchObject({ status: 'active' })
    expect(lifecycle.host.launchesOf(node.id)).toHaveLength(1)
    await lifecycle.bound(node.id)
  })
})

describe('without a host', () => {
  it('nodes wait, and start when one appears', async () => {
    lifecycle = await LifecycleUnderTest.start({ hosted: false })
    const nodes = await Promise.all(Array.from({ length: 3 }, () => lifecycle.create()))
    expect(await lifecycle.outcome(nodes[0]?.id ?? '', 1)).toMatchObject({ status: 'active' })
    await lifecycle.host.join()
    for (const node of nodes) await lifecycle.bound(node.id)
    expect(lifecycle.host.launches.map(({ generation }) => generation)).toEqual([1, 1, 1])
  })
})
