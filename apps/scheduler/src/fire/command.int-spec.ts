import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Cron } from '#common/contract/cron.schema.js'
import { contract, type OutputOf } from '#common/contract/index.js'
import { systemClock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { waitFor } from '#common/testing/wait-for.js'
import { nodeCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'
import { writeFire } from './fire.fixture.js'

const bash = contract['bash.run']
type Result = OutputOf<typeof bash>

let scheduler: SchedulerUnderTest
let host: TestPeer | undefined
let asked: { ctx: Context; input: unknown }[]
let answer: (ctx: Context) => Promise<Result> | Result

const done: Result = {
  exit_code: 0,
  signal: null,
  stdout: 'out\n',
  stderr: 'err\n',
  truncated: false,
  duration_ms: 1,
  timed_out: false,
}

const joinHost = async (): Promise<void> => {
  host = await joinBus(scheduler.nats, 'host', {
    operations: [bash],
    hostId: 'local',
    handlers: {
      [bash.name]: async (ctx: Context, input: unknown) => {
        asked.push({ ctx, input })
        return answer(ctx)
      },
    },
  })
}

beforeEach(async () => {
  asked = []
  answer = () => done
  scheduler = await SchedulerUnderTest.start()
})
afterEach(async () => {
  await host?.close()
  host = undefined
  await scheduler.stop()
})

const action = { type: 'bash' as const, cwd: '/tmp', command: 'make', timeout: 60_000 }
const command = (more = {}, ctx?: Context): Promise<Cron> => scheduler.create({ action, ...more }, ctx)
const run = ({ id }: Cron): Promise<unknown> => scheduler.call('crons.run', { id })

describe('the command of a schedule', () => {
  it('runs on the host for whom it was made, under a key of its own', async () => {
    await joinHost()
    const node = scheduler.work.node()
    const cron = await command({}, nodeCall(node))
    await run(cron)
    const { slot } = await scheduler.until(cron.id, 'succeeded')
    const [{ ctx, input } = { ctx: undefined, input: undefined }] = asked
    expect(input).toEqual({ cwd: '/tmp', command: 'make', timeout: 60_000 })
    expect(ctx?.idempotencyKey).toBe(`cron:${cron.id}:${Date.parse(slot)}`)
    expect(ctx?.actor).toMatchObject({ kind: 'node', principal: `node:${node}`, nodeId: node, generation: 1 })
  })

  it('has succeeded with exit code 0, and its output is kept', async () => {
    await joinHost()
    const cron = await command()
    await run(cron)
    expect(await scheduler.until(cron.id, 'succeeded')).toMatchObject({
      exit_code: 0,
      output: 'out\nerr\n',
      error: null,
      node_id: null,
    })
  })

  it.each([
    [{ exit_code: 3 }, 3, /exit code 3/],
    [{ exit_code: null, signal: 'SIGKILL' }, null, /SIGKILL/],
    [{ exit_code: null, signal: 'SIGKILL', timed_out: true }, null, /out of time/],
  ])('has failed with %o, of whose output the end is kept', async (end, exit, message) => {
    await joinHost()
    answer = () => ({ ...done, stdout: 'x'.repeat(9000), stderr: 'last', ...end })
    const cron = await command()
    await run(cron)
    const fire = await scheduler.until(cron.id, 'failed')
    expect(fire).toMatchObject({
      cause: 'work_failed',
      exit_code: exit,
      error: { code: 'command_failed', message: expect.stringMatching(message) },
    })
    expect(fire.output).toMatch(/^x{3996}last$/)
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ consecutive_failures: 1 })
  })

  it('is shown as running while it takes its time, and is held by its process', async () => {
    await joinHost()
    let end: (result: Result) => void = () => undefined
    answer = () => new Promise((resolve) => (end = resolve))
    const cron = await command()
    await run(cron)
    await scheduler.until(cron.id, 'running')
    for (const _ of [1, 2, 3]) {
      scheduler.clock.advance(6000)
      await waitFor(async () => {
        const [row] = await scheduler.database.query<{ held: string }>('SELECT held_until AS held FROM scheduler.fires')
        return new Date(String(row?.held)).getTime() > scheduler.clock.now() + 10_000
      })
    }
    expect(asked).toHaveLength(1)
    end(done)
    await scheduler.until(cron.id, 'succeeded')
  })

  it('waits for its host, and runs when that is there', async () => {
    const cron = await command()
    await run(cron)
    await waitFor(async () => (await scheduler.fires(cron.id))[0]?.error?.code === 'service_unavailable')
    await joinHost()
    scheduler.clock.advance(10_000)
    await scheduler.until(cron.id, 'succeeded')
    expect(asked).toHaveLength(1)
  })

  it('waits where as many run as may', async () => {
    await joinHost()
    answer = () => {
      if (asked.length > 1) return done
      throw new SvcError('quota_exceeded', undefined, { limit: 1, retry_after_ms: 1000 })
    }
    const cron = await command()
    await run(cron)
    await waitFor(async () => (await scheduler.fires(cron.id))[0]?.error?.code === 'quota_exceeded')
    scheduler.clock.advance(10_000)
    await scheduler.until(cron.id, 'succeeded')
  })

  it('has failed when the host refuses it', async () => {
    await joinHost()
    answer = () => {
      throw new SvcError('path_outside_scope')
    }
    const cron = await command()
    await run(cron)
    expect(await scheduler.until(cron.id, 'failed')).toMatchObject({
      cause: 'refused',
      error: { code: 'path_outside_scope' },
    })
  })

  it('that was cut off is never run again: how it ended is unknown', async () => {
    await joinHost()
    answer = () => {
      throw new SvcError('outcome_unknown')
    }
    const cron = await command()
    await run(cron)
    expect(await scheduler.until(cron.id, 'unknown')).toMatchObject({ cause: 'outcome_unknown' })
    expect(asked).toHaveLength(1)
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ consecutive_failures: 1 })
  })
})

describe('the command of a process that died', () => {
  const slot = new Date(Math.floor(systemClock.now() / 1000) * 1000)
  const left = async (): Promise<Cron> => {
    await joinHost()
    const cron = await command()
    const before = new Date(scheduler.clock.now() - 1000)
    await writeFire(scheduler, cron, {
      slot,
      status: 'running',
      fired_at: slot,
      attempts: 1,
      held_until: before,
    })
    return cron
  }

  it('is asked for under the same key, and its answer is waited for while it runs', async () => {
    answer = () => {
      if (asked.length > 2) return done
      throw new SvcError('idempotency_in_progress')
    }
    const cron = await left()
    expect(await scheduler.until(cron.id, 'succeeded')).toMatchObject({ fired_at: slot.toISOString(), exit_code: 0 })
    expect(new Set(asked.map(({ ctx }) => ctx.idempotencyKey))).toEqual(new Set([`cron:${cron.id}:${slot.getTime()}`]))
  })

  it('that left no word is not begun when it is too old', async () => {
    await joinHost()
    const cron = await command()
    const before = new Date(scheduler.clock.now() - 7_200_000)
    await writeFire(scheduler, cron, { slot: before, held_until: before, status: 'starting', attempts: 1 })
    expect(await scheduler.until(cron.id, 'unknown')).toMatchObject({ cause: 'outcome_unknown' })
    expect(asked).toHaveLength(0)
  })

  // Its host knows a key for a day, and what is asked now may be asked once more by whoever comes after this process.
  it('that left no word for half a day is not begun, however long its schedule makes up for slots', async () => {
    await joinHost()
    const cron = await command({ catchup_window_s: 7 * 86_400 })
    const before = new Date(scheduler.clock.now() - 12 * 3_600_000)
    await writeFire(scheduler, cron, { slot: before, held_until: before, status: 'starting', attempts: 1 })
    expect(await scheduler.until(cron.id, 'unknown')).toMatchObject({ cause: 'outcome_unknown' })
    expect(asked).toHaveLength(0)
  })

  it('is unknown when it still runs and its node may do nothing any more: only who began it could end it', async () => {
    await joinHost()
    answer = () => {
      throw new SvcError('idempotency_in_progress')
    }
    const node = scheduler.work.node()
    const cron = await command({}, nodeCall(node))
    await writeFire(scheduler, cron, { slot, status: 'running', fired_at: slot, attempts: 1, held_until: slot })
    await waitFor(() => asked.length > 0)
    scheduler.work.nodes.delete(node)
    await waitFor(() => {
      scheduler.clock.advance(1000)
      return scheduler.fires(cron.id).then(([fire]) => fire?.ended_at)
    })
    expect(await ending()).toEqual({ status: 'unknown', cause: 'outcome_unknown' })
  })

  it('is unknown when its schedule is gone, so that nobody can ask', async () => {
    const cron = await command()
    await writeFire(scheduler, cron, {
      slot,
      status: 'running',
      fired_at: slot,
      attempts: 1,
      held_until: new Date(slot.getTime() + 60_000),
    })
    await scheduler.call('crons.delete', { id: cron.id })
    scheduler.clock.advance(120_000)
    expect(await ending()).toEqual({ status: 'unknown', cause: 'outcome_unknown' })
  })

  it('is not said to have been left out when it left no word and its schedule is gone', async () => {
    const cron = await command()
    await writeFire(scheduler, cron, {
      slot,
      status: 'starting',
      attempts: 1,
      held_until: new Date(slot.getTime() + 60_000),
    })
    await scheduler.call('crons.delete', { id: cron.id })
    scheduler.clock.advance(120_000)
    expect(await ending()).toEqual({ status: 'unknown', cause: 'outcome_unknown' })
  })
})

describe('a command whose answer was lost', () => {
  // Its host ran it, the bus died before the answer came, the schedule was deleted before the next try: the line said that
  // it was never begun.
  it('has run as far as one knows, also when its schedule goes', async () => {
    await joinHost()
    answer = () => {
      throw new SvcError('service_unavailable')
    }
    const cron = await command()
    await run(cron)
    await scheduler.until(cron.id, 'running')
    await scheduler.call('crons.delete', { id: cron.id })
    scheduler.clock.advance(60_000)
    expect(await ending()).toEqual({ status: 'unknown', cause: 'outcome_unknown' })
  })
})

describe('a command that is given up', () => {
  const over = 70_000

  it('was missed when its host never heard of it', async () => {
    const cron = await command({ catchup_window_s: 0 })
    await run(cron)
    await waitFor(async () => (await scheduler.fires(cron.id))[0]?.error?.code === 'service_unavailable')
    scheduler.clock.advance(over)
    expect(await ending()).toEqual({ status: 'missed', cause: 'window' })
  })

  it('is unknown when a try left no word, whatever is said of those after it', async () => {
    await joinHost()
    const cron = await command({ catchup_window_s: 0 })
    const slot = new Date(scheduler.clock.now() - 1000)
    await scheduler.work.leave()
    await writeFire(scheduler, cron, { slot, status: 'starting', attempts: 1, held_until: slot })
    await scheduler.until(cron.id, 'running')
    scheduler.clock.advance(over)
    expect(await ending()).toEqual({ status: 'unknown', cause: 'outcome_unknown' })
    expect(asked).toEqual([])
  })

  it('is unknown when a try may have been heard and lifecycle lets nobody ask again', async () => {
    await joinHost()
    const node = scheduler.work.node()
    const cron = await command({}, nodeCall(node))
    const slot = new Date(scheduler.clock.now() - 1000)
    scheduler.work.nodes.delete(node)
    await writeFire(scheduler, cron, { slot, status: 'running', fired_at: slot, attempts: 1, held_until: slot })
    expect(await ending()).toEqual({ status: 'unknown', cause: 'outcome_unknown' })
    expect(asked).toEqual([])
  })

  // It kept what was said of an earlier try, and a process that died while it asked seemed never to have asked.
  it('has no word of the try that is under way', async () => {
    const cron = await command()
    await run(cron)
    await waitFor(async () => (await scheduler.fires(cron.id))[0]?.error?.code === 'service_unavailable')
    let error: unknown
    answer = async () => {
      error = (await scheduler.database.query('SELECT error FROM scheduler.fires'))[0]?.error
      return done
    }
    await joinHost()
    scheduler.clock.advance(10_000)
    await scheduler.until(cron.id, 'succeeded')
    expect(error).toBeNull()
  })
})

/** Of the only firing there is. */
const ending = () =>
  waitFor(async () => {
    const [found] = await scheduler.database.query(
      'SELECT status, cause FROM scheduler.fires WHERE ended_at IS NOT NULL',
    )
    return found
  })
