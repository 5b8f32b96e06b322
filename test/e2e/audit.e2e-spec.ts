import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import type { AuditEntry } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
beforeAll(async () => {
  daemon = await TestDaemon.start()
})
afterAll(() => daemon?.stop())

const audit = async (...flags: string[]): Promise<AuditEntry[]> => {
  const { code, stdout, stderr } = await svc(daemon, ['sys', 'audit', '--json', ...flags])
  if (code !== 0) throw new Error(stderr)
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

const node = 'node_01jd0000000000000000000000'
const focus = (pane: string): Promise<unknown> =>
  daemon.client({ maxRetries: 0 }).request('PUT', `/v1/focuses/${pane}`, { node_id: node })

describe('svc sys audit', () => {
  it('tells what was done with the owner’s rights, and how the owner’s token came to be', async () => {
    await expect(focus('pane-1')).rejects.toMatchObject({ code: 'not_found' })
    const [line] = await audit('--operation', 'focuses.set')
    expect(line).toMatchObject({
      actor: { kind: 'owner' },
      resource: '/v1/focuses/pane-1',
      decision: 'allowed',
      remote: '127.0.0.1',
    })
    expect(await audit('--operation', 'owner_token.installed')).toHaveLength(1)
    const { stdout } = await svc(daemon, ['sys', 'audit', '--limit', '5'])
    expect(stdout).toMatch(/^SEQ +TIME +WHO +DECISION/)
    expect(stdout).toContain('/v1/focuses/pane-1')
  })

  it('tells what was denied, with nothing of what was asked', async () => {
    const path = `/v1/nodes/${daemon.token}?token=${daemon.token}`
    expect((await fetch(daemon.baseUrl + path)).status).toBe(401)
    const [line] = await waitFor(async () => {
      const lines = await audit('--denied', '--principal', 'nobody')
      return lines.length > 0 && lines
    })
    expect(line).toMatchObject({ code: 'token_missing', operation: 'nodes.retrieve', resource: '/v1/nodes/[secret]' })
    const rows = await daemon.rows<{ row: string }>('SELECT a::text AS row FROM gateway.audit a')
    expect(rows.map(({ row }) => row).join()).not.toContain(daemon.token.slice(-40))
  })

  it('refuses a count that is none', async () => {
    expect((await svc(daemon, ['sys', 'audit', '--limit', 'many'])).code).toBe(2)
  })
})

describe('a daemon killed between the line and what it tells of', () => {
  it('has the line, and has not done it', async () => {
    const hold = await daemon.database()
    try {
      // the effect waits for the table, so that the kill comes before it
      await hold.run('BEGIN; LOCK TABLE canvas.focuses IN ACCESS EXCLUSIVE MODE')
      const { id } = await daemon
        .client()
        .nodes.create({ prompt: 'x', cwd: daemon.workDir, engine: 'exec', exec: { argv: ['true'] } })
      const put = daemon.client({ maxRetries: 0 }).request('PUT', '/v1/focuses/doomed', { node_id: id })
      const ended = put.then(
        () => 'answered',
        () => 'cut off',
      )
      await waitFor(
        async () => (await daemon.rows("SELECT 1 FROM gateway.audit WHERE resource = '/v1/focuses/doomed'")).length > 0,
        { what: 'the line' },
      )
      daemon.processes.kill('daemon')
      expect(await ended).toBe('cut off')
      await hold.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'svc %' AND pid <> pg_backend_pid()",
      )
      await hold.run('ROLLBACK')
    } finally {
      await hold.close()
    }
    chmodSync(join(daemon.data.path, 'owner.token'), 0o644)
    await daemon.startAgain()
    const lines = await audit('--operation', 'focuses.set', '--limit', '1')
    expect(lines[0]).toMatchObject({ resource: '/v1/focuses/doomed', decision: 'allowed' })
    expect(await daemon.rows("SELECT 1 FROM canvas.focuses WHERE pane = 'doomed'")).toEqual([])
    expect(await audit('--operation', 'owner_token.exposed')).toHaveLength(1)
  })
})

describe('svc sys audit --verify', () => {
  it('passes a log that nobody touched, and finds the line that somebody did', async () => {
    const before = await svc(daemon, ['sys', 'audit', '--verify'])
    expect([before.code, before.stdout]).toEqual([0, expect.stringMatching(/^\d+ lines hold, up to line \d+\n$/)])
    const [last] = await daemon.rows<{ seq: string }>('SELECT max(seq) AS seq FROM gateway.audit')
    const seq = Number(last?.seq) - 1
    await expect(daemon.rows('UPDATE gateway.audit SET remote = NULL WHERE seq = $1', [seq])).rejects.toThrow(
      /not changed/,
    )
    // as one who owns the database can
    const hand = await daemon.database()
    await hand.run(
      `SET session_replication_role = replica; UPDATE gateway.audit SET principal = 'somebody' WHERE seq = ${seq}`,
    )
    await hand.close()
    const { code, stderr } = await svc(daemon, ['sys', 'audit', '--verify'])
    expect([code, stderr]).toEqual([1, expect.stringContaining(`broken at line ${seq}`)])
    const json = await svc(daemon, ['sys', 'audit', '--verify', '--json'])
    expect([json.code, JSON.parse(json.stdout)]).toEqual([1, expect.objectContaining({ broken_at: seq })])
  })
})
