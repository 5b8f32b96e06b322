import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPrivateServers } from '../kernel/servers/private-servers.js'
import { silentLog } from '../kernel/servers/server-log.js'
import { natsAccountsConfig } from './nats.js'
import { NatsProcess } from './nats-process.js'
import type { RunKeeper } from './run-keeper.js'
import type { ServerAddresses } from './server-addresses.js'

/**
 * Postgres and Redis as the daemon itself runs them, and one NATS a worker, as processes under a directory that the
 * keeper removes. Throws when a server is neither installed nor may be.
 */
export async function startProcesses(workers: number, keeper: RunKeeper): Promise<ServerAddresses> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-test-'))
  keeper.removeDataDirectory(dataDir)
  const buses = await Promise.all(Array.from({ length: workers }, () => NatsProcess.start(natsAccountsConfig())))
  for (const bus of buses) keeper.endProcess(bus.pid)
  const natsUrls = buses.map((bus) => bus.url)
  const servers = await startPrivateServers({ dataDir, given: { natsUrl: natsUrls[0] ?? '' }, log: silentLog })
  return {
    mode: 'process',
    postgresUrl: servers.databaseUrl,
    redisUrl: servers.redisUrl,
    natsUrls,
    stop: async () => {
      await servers.stop()
      await Promise.all(buses.map((bus) => bus.stop()))
    },
  }
}
