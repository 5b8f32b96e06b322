import { randomBytes } from 'node:crypto'
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'
import { openAdmin } from './admin-connection.js'
import { natsAccountsConfig } from './nats.js'
import type { RunKeeper } from './run-keeper.js'
import type { ServerAddresses } from './server-addresses.js'
import { waitFor } from './wait-for.js'

const images = { postgres: 'postgres:16', redis: 'redis:7', nats: 'nats:2' }

/** Nothing of a test database must survive a crash, so nothing is synced; the data lies in memory. */
const careless = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=300']

/**
 * Postgres, Redis and one NATS a worker, in containers on ports of the engine's choice. They carry a label of this run,
 * by which the keeper removes them. Throws when an image can be neither found nor pulled.
 */
export async function startContainers(workers: number, keeper: RunKeeper): Promise<ServerAddresses> {
  const run = randomBytes(6).toString('hex')
  keeper.removeContainers(`svc.test.run=${run}`)
  const container = (image: string, port: number): GenericContainer =>
    new GenericContainer(image)
      .withExposedPorts(port)
      .withLabels({ 'svc.test.run': run })
      .withWaitStrategy(Wait.forListeningPorts())
      .withStartupTimeout(60_000)

  const password = randomBytes(12).toString('hex')
  const postgres = container(images.postgres, 5432)
    .withEnvironment({ POSTGRES_PASSWORD: password, PGDATA: '/tmp/pg/data' })
    .withTmpFs({ '/tmp/pg': 'rw,mode=1777' })
    .withCommand(['postgres', ...careless.flatMap((setting) => ['-c', setting])])
  const redis = container(images.redis, 6379).withCommand(['redis-server', '--hz', '100', '--databases', '64'])
  const nats = container(images.nats, 4222)
    .withCopyContentToContainer([{ content: natsAccountsConfig(), target: '/etc/nats/accounts.conf' }])
    .withCommand(['nats-server', '--config', '/etc/nats/accounts.conf'])

  const [database, cache, ...buses] = await Promise.all([
    postgres.start(),
    redis.start(),
    ...Array.from({ length: workers }, () => nats.start()),
  ])
  const postgresUrl = `postgresql://postgres:${password}@${address(database, 5432)}/postgres`
  await waitFor(async () => (await openAdmin(postgresUrl)).close().then(() => true), {
    timeout: 30_000,
    what: 'Postgres',
  })
  return {
    mode: 'docker',
    postgresUrl,
    redisUrl: `redis://${address(cache, 6379)}`,
    natsUrls: buses.map((bus) => `nats://${address(bus, 4222)}`),
  }
}

const address = (container: StartedTestContainer, port: number): string =>
  `${container.getHost()}:${container.getMappedPort(port)}`
