import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Settings } from '#common/kernel/config.js'
import { logInto } from '#common/testing/log-into.js'
import { testRedis } from '#common/testing/redis.js'
import { RedisDoor } from '#common/testing/redis-door.js'
import { waitFor } from '#common/testing/wait-for.js'
import { MovedClock } from '../../../../test/support/moved-clock.js'
import { SharedCounters } from './shared.counter.js'

let door: RedisDoor
let clock: MovedClock
let counters: SharedCounters
let lines: { level: number; msg: string }[]

const logged = () => logInto((line) => lines.push(JSON.parse(line)), 'info')
const said = () => lines.map(({ level, msg }) => [level, msg])
const whenThere = () => waitFor(async () => (await counters.fault()) === null, { what: 'an answer of Redis' })
/** Longer than Redis is doubted before it is said to be away. */
const later = (): void => clock.advance(10_000)

beforeAll(async () => {
  door = await RedisDoor.open((await testRedis()).url)
})
beforeEach(() => {
  lines = []
  clock = new MovedClock()
  counters = new SharedCounters({ REDIS_URL: door.url } as Settings, clock, logged())
})
afterEach(async () => {
  counters.onApplicationShutdown()
  await door.restore()
})
afterAll(() => door.close())

describe('the log of counters', () => {
  // A gateway that started on a busy machine said that Redis was away, with a stack, and a moment later that it was back.
  it('has nothing of a Redis that answers a moment later', async () => {
    await counters.counter('early', 5).count('one')
    await whenThere()
    later()
    await whenThere()
    door.hang()
    await counters.counter('busy', 5).count('one')
    await door.restore()
    later()
    await whenThere()
    expect(said()).toEqual([])
  })

  it.each(['cut', 'hang'] as const)(
    'says once that Redis is away when its connections %s, and that it is back',
    async (how) => {
      await whenThere()
      await door[how]()
      for (const key of ['one', 'two']) await counters.counter(how, 5).count(key)
      later()
      await waitFor(() => lines.length > 0, { what: 'a warning' })
      later()
      expect(await counters.fault()).toMatch(/does not answer/)
      await door.restore()
      await whenThere()
      expect(said()).toEqual([
        [40, expect.stringMatching(/^Redis is away/)],
        [30, expect.stringMatching(/^Redis is back/)],
      ])
    },
  )
})
