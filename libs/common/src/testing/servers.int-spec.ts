import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { AuthorizationError, connect, type NatsConnection } from '@nats-io/transport-node'
import { Redis } from 'ioredis'
import { type TestDatabase, testDatabase } from './database.js'
import { natsUrlOf, testNats } from './nats.js'
import { NatsProcess } from './nats-process.js'
import { testRedis } from './redis.js'
import { waitFor } from './wait-for.js'

describe('testDatabase', () => {
  let first: TestDatabase
  let second: TestDatabase

  beforeAll(async () => {
    ;[first, second] = await Promise.all([testDatabase(), testDatabase()])
  })
  afterAll(() => Promise.all([first.drop(), second.drop()]))

  it('has the migrations applied', async () => {
    const tables = await first.query("SELECT 1 FROM information_schema.tables WHERE table_schema = 'canvas'")

    expect(tables.length).toBeGreaterThan(0)
  })

  it('shares nothing with another one', async () => {
    await first.query('CREATE TABLE only_here (id int)')

    expect(await second.query("SELECT to_regclass('only_here') AS found")).toEqual([{ found: null }])
  })

  it('goes away with its connections', async () => {
    const third = await testDatabase()
    await third.drop()

    expect(await first.query('SELECT 1 FROM pg_database WHERE datname = $1', [third.name])).toEqual([])
  })
})

describe('testNats and testRedis', () => {
  const open = (address: string): Promise<NatsConnection> => {
    const { host, username: user, password: pass } = new URL(address)
    return connect({ servers: host, user, pass })
  }

  it('carry a message', async () => {
    const bus = await open(testNats().url)
    const subscription = bus.subscribe('greeting', { max: 1 })
    bus.publish('greeting', 'hello')
    for await (const message of subscription) expect(message.string()).toBe('hello')
    await bus.close()
  })

  // A service that a suite forgot to close answered the requests of the suites after it.
  it('keep the messages of one suite from another', async () => {
    const [bus, stranger] = await Promise.all([open(testNats().url), open(testNats(0).url)])
    const subscription = bus.subscribe('greeting', { max: 1 })
    await bus.flush()
    stranger.publish('greeting', 'from elsewhere')
    await stranger.flush()
    bus.publish('greeting', 'hello')
    for await (const message of subscription) expect(message.string()).toBe('hello')
    await Promise.all([bus.close(), stranger.close()])
  })

  it('let nobody in who names no account', async () => {
    const { host } = new URL(testNats().url)
    await expect(open(natsUrlOf(`nats://${host}`, -1))).rejects.toBeInstanceOf(AuthorizationError)
  })

  it('start with an empty database', async () => {
    for (const value of ['first', 'second']) {
      const { url } = await testRedis()
      const redis = new Redis(url)
      expect(await redis.exists('key')).toBe(0)
      await redis.set('key', value)
      redis.disconnect()
    }
  })
})

describe('NatsProcess', () => {
  it('comes back at the same address after it was killed', async () => {
    const server = await NatsProcess.start()
    const bus = await connect({ servers: server.url, reconnectTimeWait: 20, maxReconnectAttempts: -1 })
    await server.stop()
    await waitFor(() => bus.stats().outMsgs === 0)
    await server.restart()
    await waitFor(() => bus.flush().then(() => true), { what: 'the connection' })
    await bus.close()
    await server.stop()
  })
})
