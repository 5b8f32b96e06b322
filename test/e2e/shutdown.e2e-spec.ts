import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { identify } from '#common/kernel/servers/process-identity.js'
import { take, waitFor } from '#common/testing/wait-for.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'
import { runningWith } from '../support/daemon-processes.js'

let daemon: TestDaemon

beforeAll(async () => {
  daemon = await TestDaemon.prepare()
})
afterAll(() => daemon.stop())

const begin = async (script: string): Promise<string> => {
  const client = daemon.client()
  const { id } = await client.nodes.create({
    prompt: 'go',
    cwd: daemon.workDir,
    engine: 'exec',
    lifecycle: 'terminal',
    exec: { argv: ['sh', '-c', script] },
  })
  await take(client.nodes.events(id), ({ type }) => type === 'tool.started')
  return id
}

describe('svc sys', () => {
  it('brings the daemon up and says where it serves and what to do next', async () => {
    const end = await svc(daemon, ['sys', 'up'])

    expect(end.code).toBe(0)
    expect(end.stdout).toContain(`is ready: ${daemon.baseUrl}`)
    expect(end.stdout).toContain('svc node new --engine exec')
  })

  it('goes down and leaves running nodes alone, which the next daemon takes over with all its data', async () => {
    const token = daemon.token
    const id = await begin('until [ -e end ]; do sleep 0.02; done; echo over two daemons')

    expect(await svc(daemon, ['sys', 'down'])).toMatchObject({ code: 0 })
    expect(daemon.processes.find('daemon')).toBeUndefined()
    expect([...daemon.processes.toolsByNode().keys()]).toContain(id)
    expect(await svc(daemon, ['sys', 'up'])).toMatchObject({ code: 0 })
    writeFileSync(join(daemon.workDir, 'end'), '')

    const outcome = await daemon.client().nodes.waitForOutcome(id, { timeout: 30_000 })
    expect(outcome).toMatchObject({ status: 'done', final_report: { body: 'over two daemons' } })
    expect(daemon.token).toBe(token)
  })

  it('goes down with --nodes and leaves no process behind, not even one that detached itself', async () => {
    const sleeper = `600.${process.pid}`
    await begin(`(env -i PATH="$PATH" setsid sleep ${sleeper} &) ; sleep ${sleeper}`)
    await waitFor(() => runningWith(`sleep\0${sleeper}`).length === 2)

    const end = await svc(daemon, ['sys', 'down', '--nodes'])

    expect(end).toMatchObject({ code: 0, stdout: 'Stopped; no process of svc is left.\n' })
    expect(daemon.processes.all()).toEqual([])
    expect(runningWith(sleeper)).toEqual([])
  })

  // Redis overwrites the environment that its mark was looked for in: it was left behind, and said to be gone.
  it('leaves no process behind either when the daemon had been killed', async () => {
    await daemon.start()
    const servers = (['postgres', 'nats', 'redis', 'host'] as const).map(
      (name) => daemon.processes.find(name)?.pid ?? 0,
    )
    daemon.processes.kill('daemon')
    await waitFor(() => !daemon.processes.find('daemon'), { what: 'the end of the daemon' })

    const end = await svc(daemon, ['sys', 'down', '--nodes'])

    expect(end).toMatchObject({ code: 0, stderr: '' })
    expect(servers.map((pid) => identify(pid))).toEqual([undefined, undefined, undefined, undefined])
    expect(daemon.processes.all()).toEqual([])
  })
})
