import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { logInto } from '#common/testing/log-into.js'
import { testRedis } from '#common/testing/redis.js'
import { RedisDoor } from '#common/testing/redis-door.js'
import { waitFor } from '#common/testing/wait-for.js'
import { RedisCheck } from './redis.check.js'

const away = /^Redis does not answer/
let door: RedisDoor
let redis: Redis
let check: RedisCheck
let lines: { level: number; msg: string }[]

const logged = () => logInto((line) => lines.push(JSON.parse(line)), 'info')

beforeAll(async () => {
  const { url } = await testRedis()
  redis = new Redis(url)
  door = await RedisDoor.open(url)
})
beforeEach(async () => {
  lines = []
  check = new RedisCheck(door.url, logged())
})
afterEach(async () => {
  check.close()
  await door.restore()
})
afterAll(async () => {
  await door.close()
  redis.disconnect()
})

const whenFault = (wanted: RegExp | null) =>
  waitFor(
    async () => {
      const fault = await check.fault()
      return wanted === null ? fault === null : wanted.test(String(fault))
    },
    { what: `fault ${wanted}` },
  )

describe('the check of Redis', () => {
  it('has nothing to say of one that keeps what it is given', async () => {
    expect(await check.fault()).toBeNull()
    expect(lines).toEqual([])
  })

  it.each(['cut', 'hang'] as const)(
    'says once that it is away when its connections %s, and that it is back',
    async (how) => {
      await whenFault(null)
      await door[how]()
      await whenFault(away)
      await check.fault()
      await door.restore()
      await whenFault(null)
      expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
        [40, expect.stringMatching(away)],
        [30, expect.stringMatching(/as it should/)],
      ])
    },
  )

  it('says so where there is none', async () => {
    check.close()
    check = new RedisCheck(undefined, logged())
    expect(await check.fault()).toMatch(/REDIS_URL is not set/)
  })
})

// other suites use this Redis at the same time, and none of them fills its memory
describe('a Redis that may drop what it was given', () => {
  afterEach(async () => void (await redis.config('SET', 'maxmemory-policy', 'noeviction')))

  it('is warned of with its policy and what to set', async () => {
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    expect(await check.fault()).toBe(
      'Redis drops timers when its memory is full (maxmemory-policy allkeys-lru): set it to noeviction.',
    )
    expect(lines).toMatchObject([{ level: 40, msg: expect.stringContaining('allkeys-lru') }])
  })
})
