import { join } from 'node:path'
import { pause, systemClock } from '#common/kernel/clock.js'
import type { Settings } from '#common/kernel/config.js'
import type { UrlFor } from '#common/kernel/database/roles.js'
import type { Logger } from '#common/kernel/log.js'
import type { DataDirectory } from '#common/kernel/servers/data-directory.js'
import { ensureSecretFile } from '#common/kernel/servers/private-file.js'
import { type PrivateServers, startPrivateServers } from '#common/kernel/servers/private-servers.js'
import type { SupervisedProcess } from '#common/kernel/servers/supervised-process.js'
import type { RunningService, ServiceDefinition } from '#common/kernel/service.js'
import { permissionsOf } from '#common/kernel/subjects.js'
import { type DownRequest, endMarked } from './down.js'
import { hostProcess } from './host-process.js'
import { ensureKeys } from './keys.js'
import { serviceDatabases } from './service-databases.js'
import type { ServiceEntry } from './services.js'
import type { Stages } from './stages.js'

export interface DaemonOptions {
  data: DataDirectory
  settings: Settings
  services: readonly ServiceEntry[]
  log: Logger
  stages: Stages
}

interface LoadedService {
  entry: ServiceEntry
  definition: ServiceDefinition
}

/** How long (ms) the host has to be heard, and how often that is looked at: it takes half a second. */
const hearingMs = 5000
const lookEveryMs = 10

/**
 * The embedded daemon: private servers, migrations, the host beside it, and all services in this process.
 * The caller holds the lock of the data directory from before `start` until after `stop`.
 */
export class Daemon {
  private servers?: PrivateServers
  private host?: SupervisedProcess
  private running: { entry: ServiceEntry; service: RunningService }[] = []

  constructor(private readonly options: DaemonOptions) {}

  /**
   * Resolves when all services serve and the host was heard; false when it was not heard in time, and nodes wait for it.
   * After a failure `stop` closes what did start.
   */
  async start(): Promise<boolean> {
    const { stages, data, settings, services } = this.options
    // Loading code and starting servers overlap: one waits for the processor, the other for disks and sockets.
    const [servers, loaded] = await settled([
      stages.run('servers', async () => {
        this.servers = await this.startServers()
        return this.servers
      }),
      stages.run('load', () => settled(services.map(load))),
    ])
    const databaseUrlFor = await stages.run('migrate', () => this.openDatabase(servers.databaseUrl))
    const keys = ensureKeys(data)
    const natsUrl = servers.natsUrlFor('host')
    this.host = hostProcess({ data, settings, natsUrl, log: this.options.log })
    await settled([
      stages.run('host', () => this.host?.start()),
      this.startServices(loaded, (name) => ({
        ...keys,
        // One daemon a directory: the next one need not wait for the lease of a killed one to run out.
        SVC_LEASE_HOLDER: data.mark,
        ...settings,
        DATABASE_URL: databaseUrlFor(name),
        NATS_URL: servers.natsUrlFor(name),
        REDIS_URL: servers.redisUrl,
        SVC_DATA_DIR: data.path,
      })),
    ])
    return stages.run('hello', () => this.heard())
  }

  /**
   * Drains in this order: the edge stops accepting and ends what it serves; the other services drain the bus, finish
   * jobs and close their databases; with `nodes` the host ends its brokers and itself, else it is left running; then
   * the private servers. Answers the processes that a stop with `nodes` could not end.
   */
  async stop({ nodes }: DownRequest): Promise<number[]> {
    const { log, data } = this.options
    await this.closeServices(({ edge }) => edge === true)
    await this.closeServices(({ edge }) => edge !== true)
    if (nodes) await this.host?.stop()
    else this.host?.release()
    await this.servers?.stop()
    return nodes ? endMarked(data, log) : []
  }

  /** A node that is made before the first word of the host waits, and what asks the host is refused. */
  private async heard(): Promise<boolean> {
    const until = systemClock.monotonic() + hearingMs
    while (!this.running.every(({ service }) => service.complete())) {
      if (systemClock.monotonic() > until) return false
      await pause(systemClock, lookEveryMs)
    }
    return true
  }

  private startServers(): Promise<PrivateServers> {
    const { data, settings, services, log } = this.options
    if (settings.NATS_URL) {
      log.warn(
        { setting: 'NATS_URL' },
        'all services share one user of the bus: each of them can speak for every other',
      )
    }
    const accounts = [...services.map(({ name }) => name), 'host' as const]
    return startPrivateServers({
      dataDir: data.path,
      given: { databaseUrl: settings.DATABASE_URL, natsUrl: settings.NATS_URL, redisUrl: settings.REDIS_URL },
      natsAccounts: accounts.map((name) => ({ name, ...permissionsOf(name) })),
      mayInstall: settings.SVC_INSTALL_PACKAGES === 'auto',
      log,
    })
  }

  private openDatabase(url: string): Promise<UrlFor> {
    const { data, settings, log } = this.options
    return serviceDatabases({
      url,
      // on a server of our own there is nothing that could forbid them
      roles: settings.DATABASE_URL ? settings.SVC_DATABASE_ROLES : 'own',
      passwordOf: (service) => ensureSecretFile(join(data.secrets, `postgres.${service}.password`)),
      log,
    })
  }

  private async startServices(
    loaded: LoadedService[],
    settingsFor: (name: ServiceDefinition['name']) => Settings,
  ): Promise<void> {
    const { startService } = await import('#common/kernel/service.js')
    const { Neighbours } = await import('#common/kernel/bus/neighbours.js')
    const neighbours = new Neighbours()
    const { log, stages } = this.options
    const start = ({ entry, definition }: LoadedService): Promise<void> =>
      stages.run(entry.name, async () => {
        const { name } = entry
        const setup = { name, settings: settingsFor(name), log: log.child({ service: name }), neighbours }
        this.running.push({ entry, service: await startService(definition, setup) })
      })
    await settled(loaded.filter(({ entry }) => !entry.edge).map(start))
    await settled(loaded.filter(({ entry }) => entry.edge).map(start))
  }

  private async closeServices(which: (entry: ServiceEntry) => boolean): Promise<void> {
    const { log } = this.options
    const closing = this.running.filter(({ entry }) => which(entry))
    await Promise.all(
      closing.map(async ({ entry, service }) => {
        try {
          await service.close()
        } catch (error) {
          log.error({ err: error, service: entry.name }, 'a service did not close cleanly')
        }
      }),
    )
    this.running = this.running.filter(({ entry }) => !which(entry))
  }
}

async function load(entry: ServiceEntry): Promise<LoadedService> {
  const { service } = await entry.load()
  return { entry, definition: service }
}

/** As Promise.all, but a failure is thrown only when nothing is under way any more, so that `stop` finds all of it. */
async function settled<T extends readonly unknown[]>(work: [...T]): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  const outcomes: PromiseSettledResult<unknown>[] = await Promise.allSettled(work)
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
  return Promise.all(work) as Promise<{ [K in keyof T]: Awaited<T[K]> }>
}
