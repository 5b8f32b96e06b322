import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { mintToken } from '#common/kernel/tokens.js'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { testRedis } from '#common/testing/redis.js'
import { RedisDoor } from '#common/testing/redis-door.js'
import { waitFor } from '#common/testing/wait-for.js'
import { type Answer, TestGateway } from '../testing/gateway.fixture.js'
import { WireLifecycle } from '../testing/wire-lifecycle.fixture.js'

const quota = 20
let wire: WireLifecycle
let door: RedisDoor
let redis: Redis
let one: TestGateway
/** A second gateway over the same servers, keys and owner's token. */
let two: TestGateway

beforeAll(async () => {
  const { url } = testNats()
  wire = await WireLifecycle.start(url)
  const target = (await testRedis()).url
  redis = new Redis(target)
  door = await RedisDoor.open(target)
  const database = await testDatabase()
  const limits = { REDIS_URL: door.url, SVC_RATE_LIMIT: quota, SVC_AUTH_FAILURE_LIMIT: quota }
  one = await TestGateway.start(url, database, limits)
  const { SVC_DATA_DIR: directory } = one.settings
  two = await TestGateway.start(
    url,
    { ...database, drop: async () => undefined },
    {
      ...limits,
      SVC_NODE_TOKEN_KEY_FILE: join(directory, 'keys/node-token.key'),
      SVC_OWNER_TOKEN_FILE: join(directory, 'owner.token'),
    },
  )
})

afterAll(async () => {
  await two?.stop()
  await one?.stop()
  await door?.close()
  redis?.disconnect()
  await wire?.stop()
})

const redisPart = async (gateway: TestGateway) =>
  (await gateway.ask({ path: '/v1/status', token: one.token })).body.parts.find(
    ({ name }: { name: string }) => name === 'redis',
  )
const whenRedisIs = (state: string) =>
  waitFor(async () => (await Promise.all([one, two].map(redisPart))).every((part) => part.state === state), {
    what: `redis ${state}`,
  })

beforeEach(() => whenRedisIs('ready'))
afterEach(async () => {
  await door.restore()
  await redis.flushdb()
})

const newNode = (): { id: string; token: string } => {
  const id = wire.create()
  return { id, token: one.nodeToken(id) }
}
const times = async (count: number, ask: (at: number) => Promise<Answer>): Promise<Answer[]> => {
  const answers: Answer[] = []
  for (let at = 0; at < count; at += 1) answers.push(await ask(at))
  return answers
}
const statuses = (answers: Answer[]): number[] => answers.map(({ status }) => status)

describe('a scoped token', () => {
  it('may ask so often over all gateways, and is told so with each answer', async () => {
    const { id, token } = newNode()
    const answers = await times(quota, (at) => (at % 2 ? one : two).ask({ path: `/v1/nodes/${id}`, token }))
    expect(statuses(answers)).toEqual(Array(quota).fill(200))
    expect(answers[0]?.headers).toMatchObject({
      'ratelimit-policy': '"token";q=20;w=60',
      ratelimit: '"token";r=19;t=60',
    })
    const { status, headers, body } = await one.ask({ path: `/v1/nodes/${id}`, token })
    expect([status, body.code, body.retryable, body.limit]).toEqual([429, 'rate_limited', true, 'SVC_RATE_LIMIT'])
    const [, left] = /^"token";r=0;t=(\d+)$/.exec(String(headers.ratelimit)) as unknown as [string, string]
    expect(Number(headers['retry-after'])).toBe(Number(left))
    expect((await two.ask({ path: `/v1/nodes/${id}`, token })).status).toBe(429)
  })

  it('is counted where it is refused too', async () => {
    const { token } = newNode()
    const answers = await times(quota + 1, () => one.ask({ path: '/v1/model-auth', token }))
    expect(statuses(answers)).toEqual([...Array(quota).fill(403), 429])
  })

  it('leaves what others may ask as it was', async () => {
    const [first, second] = [newNode(), newNode()]
    await times(quota + 1, () => one.ask({ path: `/v1/nodes/${first.id}`, token: first.token }))
    expect((await one.ask({ path: `/v1/nodes/${second.id}`, token: second.token })).status).toBe(200)
  })

  it('is counted for a stream once', async () => {
    const { id, token } = newNode()
    const stream = await one.open({ path: `/v1/nodes/${id}/events`, token, headers: { accept: 'text/event-stream' } })
    expect(stream.headers.ratelimit).toBe('"token";r=19;t=60')
    for (let at = 0; at < quota; at += 1) wire.record(id, 'node.usage')
    stream.destroy()
    expect((await one.ask({ path: `/v1/nodes/${id}`, token })).headers.ratelimit).toMatch(/r=18/)
  })
})

describe('without limit', () => {
  it('the owner asks', async () => {
    const answers = await times(quota + 2, () => one.ask({ path: '/v1/nodes' }))
    expect(statuses(answers)).toEqual(Array(quota + 2).fill(200))
    expect(answers[0]?.headers.ratelimit).toBeUndefined()
  })

  it('what hosts a node asks for it, and another token is counted there', async () => {
    const { id, token } = newNode()
    const claim = (bearer: string) =>
      one.ask({ method: 'POST', path: `/v1/nodes/${id}/mail/claim`, body: {}, token: bearer })
    expect(statuses(await times(quota + 2, () => claim(token)))).toEqual(Array(quota + 2).fill(200))
    expect(statuses(await times(quota + 1, () => claim(one.nodeToken(wire.create())))).at(0)).toBe(403)
    const other = newNode().token
    expect(statuses(await times(quota + 1, () => claim(other))).at(-1)).toBe(429)
  })

  it('everybody asks what is open', async () => {
    const answers = await times(quota + 2, () => one.ask({ path: '/healthz', token: undefined }))
    expect(statuses(answers)).toEqual(Array(quota + 2).fill(200))
  })
})

describe('when Redis', () => {
  it('forgets everything, counting begins anew', async () => {
    const { id, token } = newNode()
    await times(quota, () => one.ask({ path: `/v1/nodes/${id}`, token }))
    await redis.flushdb()
    expect((await one.ask({ path: `/v1/nodes/${id}`, token })).headers.ratelimit).toBe('"token";r=19;t=60')
  })

  it('is cut off, each gateway counts by itself, and says so; it comes back by itself', async () => {
    const { id, token } = newNode()
    const ask = (gateway: TestGateway) => gateway.ask({ path: `/v1/nodes/${id}`, token })
    const under = times(quota, () => ask(one))
    await door.cut()
    expect(statuses(await under).every((status) => status === 200)).toBe(true)
    await whenRedisIs('degraded')
    const { body } = await one.ask({ path: '/v1/status' })
    expect(body.parts).toContainEqual(expect.objectContaining({ name: 'redis', state: 'degraded' }))
    const other = newNode()
    const alone = await times(quota + 1, () => one.ask({ path: `/v1/nodes/${other.id}`, token: other.token }))
    expect(statuses(alone)).toEqual([...Array(quota).fill(200), 429])
    expect((await two.ask({ path: `/v1/nodes/${other.id}`, token: other.token })).status).toBe(200)
    await door.restore()
    await whenRedisIs('ready')
    expect((await one.ask({ path: `/v1/nodes/${other.id}`, token: other.token })).status).toBe(200)
  })

  it('hangs, nobody waits for it long, and most not at all', async () => {
    const { id, token } = newNode()
    door.hang()
    const began = performance.now()
    const answers = await times(10, () => one.ask({ path: `/v1/nodes/${id}`, token }))
    expect(statuses(answers)).toEqual(Array(10).fill(200))
    expect(performance.now() - began).toBeLessThan(1500)
    await whenRedisIs('degraded')
  })
})

describe('wrong tokens', () => {
  const guess = (token: string, gateway = one) => gateway.ask({ path: '/v1/nodes', token })
  const strange = (at: number) => mintToken('app', `01jd${String(at).padStart(22, '0')}`)

  it('from one address are told to wait, over all gateways, and a good one passes', async () => {
    const answers = await times(quota + 5, (at) => guess(strange(at), at % 2 ? one : two))
    expect(statuses(answers)).toEqual([...Array(quota).fill(401), ...Array(5).fill(429)])
    expect(Number(answers.at(-1)?.headers['retry-after'])).toBeGreaterThan(50)
    const { id, token } = newNode()
    expect((await one.ask({ path: `/v1/nodes/${id}`, token })).status).toBe(200)
    expect((await guess(one.token)).status).toBe(200)
    expect((await guess('nonsense')).status).toBe(429)
  })

  it('at one token are not even looked at after ten, and the right one passes where it is known', async () => {
    const known = one.token
    await guess(known)
    const id = known.split('_')[2] as string
    const looks = await times(10, () => guess(mintToken('own', id)))
    expect(statuses(looks)).toEqual(Array(10).fill(401))
    expect((await guess(mintToken('own', id))).status).toBe(429)
    expect((await guess(known)).status).toBe(200)
  })

  // The tree of a node knows its id: a sibling, which asks from the same address, locked the next launch of it out.
  it('at one token of a node stop nobody who has the right one', async () => {
    const { id, token } = newNode()
    const wrong = mintToken('node', token.split('_')[2] as string)
    expect(statuses(await times(12, () => guess(wrong)))).toEqual(Array(12).fill(401))
    expect((await one.ask({ path: `/v1/nodes/${id}`, token })).status).toBe(200)
  })

  it('are no matter of those who show none, nor of the owner’s socket', async () => {
    const none = await times(quota + 5, () => one.ask({ path: '/v1/nodes', token: undefined }))
    expect(statuses(none)).toEqual(Array(quota + 5).fill(401))
    const { socketPath } = one.listeners
    const wrong = await times(quota + 5, (at) => one.ask({ path: '/v1/nodes', token: strange(at), socketPath }))
    expect(statuses(wrong)).toEqual(Array(quota + 5).fill(401))
  })
})
