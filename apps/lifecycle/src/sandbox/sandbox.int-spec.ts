import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { SvcError } from '#common/kernel/errors.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'

describe('running programs without a sandbox', () => {
  let lifecycle: LifecycleUnderTest

  beforeEach(async () => {
    lifecycle = await LifecycleUnderTest.start({ hosted: false })
    lifecycle.host.sandbox = { level: 'none', detail: 'bubblewrap is not installed' }
    await lifecycle.host.join()
  })
  afterEach(() => lifecycle.stop())

  const consent = async () => {
    const { sentence } = await lifecycle.call('sandbox.get', {})
    return lifecycle.call('sandbox.consent', { words: sentence })
  }

  it('is refused before a node is made, with the reason of the host', async () => {
    await expect(lifecycle.create()).rejects.toMatchObject({
      code: 'sandbox_required',
      fields: { host_id: lifecycle.host.hostId, detail: 'bubblewrap is not installed' },
    })
  })

  it('is not asked of a node that runs none', async () => {
    await lifecycle.joinModels()
    const quiet = { engine: 'loop' as const, exec: undefined }
    await lifecycle.create({ ...quiet, scopes: ['svc:llm'] })
    await expect(lifecycle.create({ ...quiet, scopes: ['svc:llm', 'svc:act'] })).rejects.toMatchObject({
      code: 'sandbox_required',
    })
  })

  it('is not asked where another host has a sandbox', async () => {
    await lifecycle.host.hello({ host_id: 'another', sandbox: { level: 'account', detail: 'root' } })
    await lifecycle.create()
  })

  it('is allowed once the owner said so in words, and the consent is told with who and when', async () => {
    const before = await lifecycle.call('sandbox.get', {})
    expect(before).toMatchObject({ hosts: [{ host_id: lifecycle.host.hostId, level: 'none' }], consent: null })
    const given = await consent()
    expect(given.consent).toMatchObject({ words: before.sentence, by: 'owner' })
    expect(await consent()).toEqual(given)
    const node = await lifecycle.create()
    await waitFor(() => lifecycle.host.launchesOf(node.id)[0])
    expect(lifecycle.host.launchesOf(node.id)[0]).toMatchObject({ consent: true, scopes: node.scopes })
  })

  it('takes no other words for a consent', async () => {
    for (const words of ['yes', 'programs of nodes may do on this machine whatever my own account may do.']) {
      await expect(lifecycle.call('sandbox.consent', { words })).rejects.toMatchObject({
        code: 'validation_failed',
        fields: { errors: [{ pointer: '/words' }] },
      })
    }
    expect((await lifecycle.call('sandbox.get', {})).consent).toBeNull()
  })

  it('is refused again once the owner took the consent back, and both stay on record', async () => {
    await consent()
    expect((await lifecycle.call('sandbox.revoke', {})).consent).toBeNull()
    await expect(lifecycle.create()).rejects.toMatchObject({ code: 'sandbox_required' })
    const rows = await lifecycle.database.query('SELECT given_by, revoked_by FROM canvas.consents')
    expect(rows).toEqual([{ given_by: 'owner', revoked_by: 'owner' }])
    expect((await consent()).consent).not.toBeNull()
  })

  it('is told to hosts that need it, with their heartbeat', async () => {
    expect(await lifecycle.host.hello()).toMatchObject({ consent: false })
    await consent()
    expect(await lifecycle.host.hello()).toMatchObject({ consent: true })
    expect(await lifecycle.host.hello({ sandbox: { level: 'bubblewrap', detail: '' } })).toMatchObject({
      consent: false,
    })
  })

  it('ends a node that was made when there was a sandbox, and says why', async () => {
    const { host } = lifecycle
    host.sandbox = { level: 'bubblewrap', detail: 'here' }
    await host.hello()
    host.onLaunch = () => {
      throw new Error('not now')
    }
    const node = await lifecycle.create()
    await waitFor(() => host.launchesOf(node.id).length > 0)
    host.sandbox = { level: 'none', detail: 'bubblewrap is gone' }
    const dead = await lifecycle.until(node.id, 'dead')
    expect(dead.fault).toMatchObject({ kind: 'other', message: expect.stringContaining('bubblewrap is gone') })
    expect(dead.fault?.message).toContain('svc sys sandbox')
  })

  it('ends a node whose host refuses its working directory', async () => {
    lifecycle.host.sandbox = { level: 'bubblewrap', detail: 'here' }
    await lifecycle.host.hello()
    lifecycle.host.onLaunch = () => {
      throw new SvcError('path_outside_scope', "A node can't work in /proc")
    }
    const node = await lifecycle.create({ cwd: '/proc' })
    const dead = await lifecycle.until(node.id, 'dead')
    expect(dead.fault?.message).toContain("A node can't work in /proc")
  })
})
