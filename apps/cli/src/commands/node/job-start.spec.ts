import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

const id = 'node_01jd0000000000000000000000'

describe('svc node job-start', () => {
  let svc: SvcCommand
  let wire: SvcCommand['wire']

  beforeAll(async () => {
    svc = await SvcCommand.start()
    wire = svc.wire
  })
  afterAll(() => svc.stop())

  it('takes one text for a shell, and prints the bare id', async () => {
    wire.says(json({ id: 'job_x' }, 201))
    const { code, out, err } = await svc.run(['node', 'job-start', id, '--', 'make && make check'])
    expect([code, out]).toEqual([0, 'job_x\n'])
    expect(err).toContain(`svc node job-output ${id} job_x --follow`)
    expect(wire.only).toMatchObject({ path: `/v1/nodes/${id}/jobs`, body: { command: 'make && make check' } })
  })

  it('counts a relative directory from where it is called', async () => {
    wire.says(json({ id: 'job_x' }, 201))
    await svc.run(['node', 'job-start', id, '--cwd', 'sub', '--', 'true'])
    expect(wire.only.body).toEqual({ command: 'true', cwd: join(realpathSync(svc.dataDir), 'sub') })
  })

  it.each([[[]], [['--']], [['--', '']]])('asks for the command when it is called with %j', async (words) => {
    const { code, err } = await svc.run(['node', 'job-start', id, ...words])
    expect(code).toBe(2)
    expect(err).toContain('no command is given')
  })
})
