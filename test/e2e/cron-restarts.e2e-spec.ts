import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { isoTime, systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client, Cron, CronFire, LedgerEntry } from '#sdk/index.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
let client: Client
beforeAll(async () => {
  daemon = await TestDaemon.start()
  client = daemon.client({ maxRetries: 10 })
})
afterAll(() => daemon.stop())

const at = (ms: number) => ({ at: isoTime(systemClock.now() + ms) })
/** Writes a line each time that it is really run. */
const counting = (name: string) => ({
  ...{ type: 'bash' as const, cwd: daemon.workDir, command: `echo x >> ${name}` },
})
const times = (name: string): number => {
  try {
    return readFileSync(join(daemon.workDir, name), 'utf8').length / 2
  } catch {
    return 0
  }
}
const firesOf = async (id: string): Promise<CronFire[]> =>
  (await client.request<{ data: CronFire[] }>('GET', `/v1/crons/${id}/fires?limit=200`)).data
const ledgerOf = async (id: string): Promise<LedgerEntry[]> =>
  (await client.request<{ data: LedgerEntry[] }>('GET', `/v1/ledger?cron_id=${id}`)).data
const endOf = (id: string): Promise<CronFire> =>
  waitFor(async () => (await firesOf(id)).find(({ status }) => status === 'succeeded'), {
    what: `the firing of ${id}`,
  })
const kill = (): void => void daemon.processes.kill('daemon')
const passed = ({ schedule }: Cron): Promise<unknown> =>
  waitFor(() => 'at' in schedule && Date.parse(schedule.at) < systemClock.now(), { what: 'the slot' })

/** The daemon's own Redis. */
const openRedis = (): Redis => {
  const password = readFileSync(join(daemon.data.secrets, 'redis.password'), 'utf8').trim()
  return new Redis(join(daemon.data.sockets, 'redis.sock'), { password, maxRetriesPerRequest: 5 })
}

describe('a Redis that is emptied', () => {
  it('takes no schedule with it: each fires once, at its time or a moment later', async () => {
    const redis = openRedis()
    const names = Array.from({ length: 8 }, (_, index) => `flushed-${index}`)
    const crons = await Promise.all(
      names.map((name, index) =>
        client.crons.create({ name, schedule: at(1500 + 50 * index), action: counting(name) }),
      ),
    )
    const far = await client.crons.create({ schedule: { at: '2060-01-01T00:00:00.000Z' }, action: counting('never') })

    await redis.flushall()

    for (const { id } of crons) expect((await endOf(id)).lateness_ms).toBeLessThan(2500)
    expect(names.map(times)).toEqual(names.map(() => 1))
    // its timer is there again, though nobody asked
    await waitFor(async () => (await redis.keys(`*${far.id}*`)).length > 0, { what: 'the timer' })
    redis.disconnect()
  })

  it('that is away keeps nobody from arming, and nothing from firing', async () => {
    const resume = daemon.processes.pause('redis')
    try {
      const cron = await client.crons.create({ schedule: at(1200), action: counting('away') })
      expect((await endOf(cron.id)).lateness_ms).toBeLessThan(3000)
      const { parts, ready } = await client.system.status()
      expect(parts.find(({ name }) => name === 'scheduler')).toMatchObject({ state: 'degraded' })
      expect(ready).toBe(true)
    } finally {
      resume()
    }
    await waitFor(
      async () =>
        (await client.system.status()).parts.some(({ name, state }) => name === 'scheduler' && state === 'ready'),
      { what: 'timers again' },
    )
    expect(times('away')).toBe(1)
  })
})

describe('a daemon that is killed', () => {
  it('before a slot and started again after it fires once, and says how late', async () => {
    const cron = await client.crons.create({ name: 'late', schedule: at(1500), action: counting('killed') })
    kill()
    await passed(cron)
    await daemon.startAgain()

    const fire = await endOf(cron.id)

    expect(fire).toMatchObject({ slot: (cron.schedule as { at: string }).at, trigger: 'schedule' })
    expect(fire.lateness_ms).toBeGreaterThan(0)
    expect([times('killed'), (await firesOf(cron.id)).length]).toEqual([1, 1])
  })

  it('for longer makes up for it once, and has it in the ledger as late', async () => {
    const cron = await client.crons.create({ name: 'later', schedule: at(60_000), action: counting('later') })
    const every = await client.crons.create({ schedule: { every: 600 }, action: counting('many') })
    kill()
    // as if two hours had gone by
    await daemon.rows(
      `UPDATE scheduler.crons SET next_slot = next_slot - interval '2 hours', next_due = next_due - interval '2 hours',
        anchor_at = anchor_at - interval '2 hours', catchup_window_s = 9000,
        schedule = replace(schedule::text, $2, to_char((next_slot - interval '2 hours') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::json
        WHERE id = ANY ($1)`,
      [[cron.id, every.id], (cron.schedule as { at: string }).at],
    )
    await daemon.startAgain()

    const fire = await endOf(cron.id)
    expect(fire).toMatchObject({ cause: 'late', slots: 1 })
    expect(fire.lateness_ms).toBeGreaterThan(7_000_000)
    const [entry] = await ledgerOf(cron.id)
    expect(entry).toMatchObject({ state: 'late', cause: 'late', count: 1, lateness_ms: fire.lateness_ms })
    // one firing for all slots that nobody was there for, and a line for those that it stands for
    await endOf(every.id)
    const lines = (await firesOf(every.id)).map(({ status, slots }) => [status, slots])
    expect(lines).toEqual([
      ['succeeded', 1],
      ['coalesced', 11],
    ])
    expect([times('later'), times('many')]).toEqual([1, 1])
    await client.crons.delete(every.id)
  })

  it('in the middle of the work of a firing follows it to its end, and does not begin it again', async () => {
    const action = {
      ...{
        type: 'create_node' as const,
        prompt: 'go',
        cwd: daemon.workDir,
        engine: 'exec',
        lifecycle: 'terminal' as const,
      },
      exec: { argv: ['sh', '-c', 'echo x >> begun; until [ -e finish ]; do sleep 0.02; done; echo over'] },
    }
    const { id } = await client.crons.create({ schedule: { every: 3600 }, action })
    await client.crons.run(id)
    await waitFor(() => times('begun') === 1, { what: 'the work' })
    kill()
    await daemon.startAgain()
    expect((await firesOf(id))[0]).toMatchObject({ status: 'running' })
    await daemon.client().request('POST', '/v1/bash', { cwd: daemon.workDir, command: 'touch finish' })

    const fire = await endOf(id)

    expect((await client.nodes.outcome(fire.node_id as string)).final_report?.body).toBe('over')
    expect([times('begun'), (await firesOf(id)).length]).toEqual([1, 1])
  })

  it('loses no schedule and changes none', async () => {
    const action = counting('unchanged')
    const daily = { cron: '0 9 * * MON-FRI', tz: 'Europe/Berlin' }
    const made = [
      await client.crons.create({ schedule: daily, action, jitter_s: 30, missed: 'all', overlap: 'queue' }),
      await client.crons.create({ schedule: { every: 86_400 }, action, end_at: '2060-01-01T00:00:00.000Z' }),
      await client.crons.create({ schedule: { at: '2060-01-01T00:00:00.000Z' }, action }),
    ]
    await client.crons.pause(made[1]?.id as string)
    const all = async () => (await client.request<{ data: Cron[] }>('GET', '/v1/crons?limit=200')).data
    const before = await all()
    kill()
    await daemon.startAgain()
    expect(await all()).toEqual(before)
  })
})
