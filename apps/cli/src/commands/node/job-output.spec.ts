import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

const id = 'node_01jd0000000000000000000000'
const job = 'job_01jd0000000000000000000000'
const empty = { content: '', offset: 0, next_offset: null, size: 0, truncated: false, omitted: null, running: false }

describe('svc node job-output', () => {
  let svc: SvcCommand
  let wire: SvcCommand['wire']

  beforeAll(async () => {
    svc = await SvcCommand.start()
    wire = svc.wire
  })
  afterAll(() => svc.stop())

  it('answers as JSON what the daemon answered, also of a job that printed nothing', async () => {
    wire.says(json(empty))
    const { code, out } = await svc.run(['node', 'job-output', id, job, '--json'])
    expect([code, JSON.parse(out)]).toEqual([0, empty])
  })

  it('says which bytes were not kept, and goes on behind them', async () => {
    const omitted = { from: 4, to: 100 }
    const all = { ...empty, size: 104, truncated: true, omitted }
    wire.says(
      json({ ...all, content: 'one\n', next_offset: 100 }),
      json({ ...all, content: 'two\n', offset: 100, next_offset: null }),
    )
    const { out, err } = await svc.run(['node', 'job-output', id, job])
    expect(out).toBe('one\ntwo\n')
    expect(err).toContain('[bytes 4 to 100 were not kept]')
  })

  it('asks for the end by a negative offset', async () => {
    wire.says(json(empty))
    await svc.run(['node', 'job-output', id, job, '--tail', '20'])
    expect(wire.only.path).toContain('offset=-20')
  })

  it.each([[['--tail', '0']], [['--tail', '4', '--offset', '2']]])('refuses %j', async (options) => {
    expect((await svc.run(['node', 'job-output', id, job, ...options])).code).toBe(2)
  })
})
