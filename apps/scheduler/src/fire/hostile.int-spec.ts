import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Cron } from '#common/contract/cron.schema.js'
import { contract, type OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { waitFor } from '#common/testing/wait-for.js'
import { nodeCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'
import { writeFire } from './fire.fixture.js'

const bash = contract['bash.run']
type Result = OutputOf<typeof bash>

const done: Result = {
  exit_code: 0,
  signal: null,
  stdout: '',
  stderr: '',
  truncated: false,
  duration_ms: 1,
  timed_out: false,
}

let scheduler: SchedulerUnderTest
let host: TestPeer
let asked: Context[]
let answer: (command: string, ctx: Context) => Promise<Result> | Result

beforeEach(async () => {
  asked = []
  answer = () => done
  scheduler = await SchedulerUnderTest.start()
  host = await joinBus(scheduler.nats, 'host', {
    operations: [bash],
    hostId: 'local',
    handlers: {
      [bash.name]: async (ctx: Context, input: unknown) => {
        asked.push(ctx)
        return answer((input as { command: string }).command, ctx)
      },
    },
  })
})
afterEach(async () => {
  // a service that stops waits for its commands for a while
  answer = () => done
  for (const end of unended.splice(0)) end()
  await host.close()
  await scheduler.stop()
})

const arm = (command: string, more = {}, ctx?: Context): Promise<Cron> =>
  scheduler.create({ action: { type: 'bash', cwd: '/tmp', command, timeout: 60_000 }, ...more }, ctx)
const run = ({ id }: Cron): Promise<unknown> => scheduler.call('crons.run', { id })
const unended: (() => void)[] = []
/** Until its test is over. */
const forever = () => new Promise<Result>((resolve) => unended.push(() => resolve(done)))

describe('what a command or its host says', () => {
  // One such line failed the transaction of all firings that ended with it, again and again: none of them ever ended.
  it.each([
    ['U+0000', `a\0b`, 'a\ufffdb'],
    ['half of a character', `\ud83d${'x'.repeat(10)}`, `\ufffd${'x'.repeat(10)}`],
    ['a character where it is cut', `${'\u{1f600}'.repeat(2001)}a`, `\ufffd${'\u{1f600}'.repeat(1999)}a`],
  ])('may hold %s, and holds up no other firing', async (_what, stdout, kept) => {
    answer = (command) => (command === 'odd' ? { ...done, stdout } : done)
    const [odd, plain] = [await arm('odd'), await arm('plain')]
    await Promise.all([run(odd), run(plain)])

    await scheduler.until(plain.id, 'succeeded')
    expect(await scheduler.until(odd.id, 'succeeded')).toMatchObject({ output: kept })
  })

  it('may refuse it in words that hold them', async () => {
    answer = () => {
      throw new SvcError('not_found', 'There is no directory /tmp/\ud800\0.')
    }
    const cron = await arm('odd')
    await run(cron)
    expect(await scheduler.until(cron.id, 'failed')).toMatchObject({
      error: { code: 'not_found', message: 'There is no directory /tmp/\ufffd\ufffd.' },
    })
  })

  it('is told to a person without them', async () => {
    answer = () => {
      throw new SvcError('not_found', `${'\u{1f600}'.repeat(1500)}`)
    }
    const cron = await arm('odd', { max_failures: 1 })
    await run(cron)
    await waitFor(() => scheduler.work.concerns.some(({ ref, concern }) => ref === cron.id && concern !== null))
  })
})

describe('commands that do not end', () => {
  // As many as wait at most held up messages and new nodes of everybody, for as long as commands may run.
  it('hold up no work of another kind, however many of them wait', async () => {
    answer = forever
    const node = scheduler.work.node()
    const greedy = await arm('sleep', { overlap: 'allow' }, nodeCall(node))
    for (let round = 0; round < 4; round += 1) await Promise.all(Array.from({ length: 50 }, () => run(greedy)))
    const message = await scheduler.create({
      action: { type: 'message', node_id: node, body: 'hello', tier: 'normal' },
    })

    await run(message)

    await scheduler.until(message.id, 'running')
  }, 60_000)
})

describe('commands of one node that do not end', () => {
  // They took all places, and the owner's waited for as long as commands may run.
  it('leave places to others, whose come up though more of them wait', async () => {
    answer = (command) => (command === 'sleep' ? forever() : done)
    const greedy = await arm('sleep', { overlap: 'allow' }, nodeCall(scheduler.work.node()))
    for (let round = 0; round < 4; round += 1) await Promise.all(Array.from({ length: 50 }, () => run(greedy)))
    const [mine, left] = [await arm('mine'), await arm('left')]

    await run(mine)
    // of a process that died
    const slot = new Date(scheduler.clock.now())
    await writeFire(scheduler, left, { slot, status: 'starting', attempts: 0, held_until: slot })

    await scheduler.until(mine.id, 'succeeded')
    await scheduler.until(left.id, 'succeeded')
    expect(asked.filter(({ actor }) => actor.kind === 'node')).toHaveLength(16)
  }, 60_000)
})

describe('a command whose node may do nothing any more', () => {
  // It went on for as long as commands may run, after its node was canceled.
  it('is ended', async () => {
    let left = false
    answer = (_command, { signal }) => {
      signal.addEventListener('abort', () => (left = true))
      return forever()
    }
    const node = scheduler.work.node()
    const cron = await arm('sleep', {}, nodeCall(node))
    await run(cron)
    await waitFor(() => asked.length === 1)

    scheduler.work.nodes.delete(node)
    scheduler.clock.advance(6000)

    await waitFor(() => left)
    expect(await scheduler.until(cron.id, 'canceled')).toMatchObject({
      cause: 'work_canceled',
      error: { code: 'not_found' },
    })
  })

  it('goes on while nobody can say so', async () => {
    answer = forever
    const cron = await arm('sleep', {}, nodeCall(scheduler.work.node()))
    await run(cron)
    await scheduler.until(cron.id, 'running')
    await scheduler.work.leave()
    for (const _ of [1, 2, 3]) {
      scheduler.clock.advance(6000)
      await waitFor(async () => {
        const [row] = await scheduler.database.query<{ held: string }>('SELECT held_until AS held FROM scheduler.fires')
        return new Date(String(row?.held)).getTime() > scheduler.clock.now() + 10_000
      })
    }
    expect((await scheduler.fires(cron.id))[0]).toMatchObject({ status: 'running' })
  })
})

describe('a command that was cut off long ago', () => {
  // Its host remembers for a day which commands it began: asked later, it ran this one a second time.
  it('is not begun again', async () => {
    const cron = await arm('once', { catchup_window_s: 7 * 86_400 })
    const slot = new Date(scheduler.clock.now() - 25 * 3_600_000)
    await writeFire(scheduler, cron, { slot, status: 'running', fired_at: slot, attempts: 1, held_until: slot })

    expect(await scheduler.until(cron.id, 'unknown')).toMatchObject({ cause: 'outcome_unknown' })
    expect(asked).toEqual([])
  })
})
