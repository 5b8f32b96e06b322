import { openDataDirectory } from './data-directory.js'
import type { ProcessSpec } from './detached-process.js'
import { natsServer } from './nats.server.js'
import type { NatsAccount } from './nats-config.js'
import { postgresServer, postgresVersion } from './postgres.server.js'
import { redisServer } from './redis.server.js'
import type { ServerLog } from './server-log.js'
import { findServerPrograms, type ServerName, type ServerProgram, type ServerPrograms } from './server-programs.js'
import { type ProcessOrigin, SupervisedProcess } from './supervised-process.js'

export interface PrivateServerOptions {
  dataDir: string
  /** Addresses of running servers, each used instead of a private one. */
  given?: { databaseUrl?: string; natsUrl?: string; redisUrl?: string }
  /** Bus accounts with rights of their own, then the only ones; none exist on a bus that was given. */
  natsAccounts?: NatsAccount[]
  /** Whether missing servers may be installed from the system's packages. Default true. */
  mayInstall?: boolean
  log: ServerLog
}

export interface PrivateServers {
  databaseUrl: string
  /** Of a user with all rights; empty where `natsAccounts` are the only ones. */
  natsUrl: string
  redisUrl: string
  /** The bus address for one of `natsAccounts`; the common one where the bus was given. */
  natsUrlFor(account: string): string
  /** How each private server came to run, and in how many milliseconds. */
  started: { server: ServerName; origin: ProcessOrigin; tookMs: number }[]
  /** Stops the private servers in order (Redis and NATS, then Postgres) and waits for their end. */
  stop(): Promise<void>
  /** Stops watching them and leaves them running. */
  release(): void
}

/**
 * Brings up Postgres, NATS and Redis under the data directory, adopting those that an earlier daemon left, and keeps
 * them up. Addresses stay the same over restarts. The caller holds the directory's lock. Throws when one can't be had;
 * those that did start are left running for the next attempt.
 */
export async function startPrivateServers(options: PrivateServerOptions): Promise<PrivateServers> {
  const { given = {}, log } = options
  const data = openDataDirectory(options.dataDir)
  const needed: ServerName[] = []
  if (!given.databaseUrl) needed.push('postgres')
  if (!given.natsUrl) needed.push('nats')
  if (!given.redisUrl) needed.push('redis')
  const version = postgresVersion(data)
  const programs = await findServerPrograms({
    needed,
    data,
    postgresVersion: version,
    mayInstall: options.mayInstall ?? true,
    log,
  })

  const postgres = given.databaseUrl ? undefined : postgresServer(data, present(programs, ['initdb', 'postgres']))
  const nats = given.natsUrl
    ? undefined
    : await natsServer(data, present(programs, ['nats']).nats, options.natsAccounts ?? [])
  const redis = given.redisUrl ? undefined : redisServer(data, present(programs, ['redis']).redis)

  const specs = [postgres?.spec, nats?.spec, redis?.spec].filter((spec): spec is ProcessSpec => !!spec)
  const processes = new Map(specs.map((spec) => [spec.name, new SupervisedProcess(spec, data, log)]))
  const started = await startAll(processes)
  const stopNamed = (name: ServerName) => processes.get(name)?.stop()
  return {
    databaseUrl: given.databaseUrl ?? postgres?.url ?? '',
    natsUrl: given.natsUrl ?? (options.natsAccounts?.length ? '' : (nats?.url() ?? '')),
    redisUrl: given.redisUrl ?? redis?.url ?? '',
    natsUrlFor: (account) => given.natsUrl ?? nats?.url(account) ?? '',
    started,
    stop: async () => {
      await Promise.all([stopNamed('redis'), stopNamed('nats')])
      await stopNamed('postgres')
    },
    release: () => {
      for (const process of processes.values()) process.release()
    },
  }
}

async function startAll(processes: Map<string, SupervisedProcess>): Promise<PrivateServers['started']> {
  const since = performance.now()
  const outcomes = await Promise.allSettled(
    [...processes].map(async ([name, process]) => {
      const origin = await process.start()
      return { server: name as ServerName, origin, tookMs: Math.round(performance.now() - since) }
    }),
  )
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (!failed) return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  for (const process of processes.values()) process.release()
  throw failed.reason
}

function present<K extends keyof ServerPrograms>(
  programs: Partial<ServerPrograms>,
  names: K[],
): Record<K, ServerProgram> {
  const found = {} as Record<K, ServerProgram>
  for (const name of names) {
    const program = programs[name]
    if (!program) throw new Error(`No program was found for ${name}`)
    found[name] = program
  }
  return found
}
