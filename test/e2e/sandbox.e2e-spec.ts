import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

interface Status {
  readonly sentence: string
  readonly hosts: readonly { readonly level: string }[]
}

describe('a daemon whose host holds no programs', () => {
  let daemon: TestDaemon

  beforeAll(async () => {
    daemon = await TestDaemon.start({ env: { SVC_SANDBOX: 'none' } })
    writeFileSync(join(daemon.workDir, 'a.ts'), '')
  })
  afterAll(() => daemon.stop())

  const ls = () => svc(daemon, ['node', 'new', '--engine', 'exec', '--wait', '--', 'ls'])

  it('runs them once its owner consented in words, and refuses them before and after', async () => {
    const { sentence } = await waitFor(async () => {
      const status = JSON.parse((await svc(daemon, ['sys', 'sandbox', '--json'])).stdout) as Status
      return status.hosts[0]?.level === 'none' && status
    })
    const refused = await ls()
    expect(refused.code).toBe(6)
    expect(refused.stderr).toContain('svc sys sandbox')
    expect((await svc(daemon, ['sys', 'doctor'])).stdout).toMatch(
      /sandbox\s+nothing: programs of nodes may do whatever/,
    )

    expect((await svc(daemon, ['sys', 'sandbox', '--consent'], { input: 'yes\n' })).code).toBe(1)
    expect((await ls()).code).toBe(6)
    expect((await svc(daemon, ['sys', 'sandbox', '--consent'], { input: `${sentence}\n` })).code).toBe(0)
    expect(await ls()).toMatchObject({ code: 0, stdout: 'a.ts\n' })

    expect((await svc(daemon, ['sys', 'sandbox', '--revoke'])).code).toBe(0)
    expect((await ls()).code).toBe(6)
  })
})
