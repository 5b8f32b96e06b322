import 'reflect-metadata'
import type { DynamicModule, INestApplicationContext, Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { ServiceName } from '../contract/define.js'
import type { Neighbours } from './bus/neighbours.js'
import { loadSettings, SETTINGS, type Settings } from './config.js'
import { type HealthState, listenForHealth } from './health.js'
import { createLogger, type Logger } from './log.js'
import { nestLog } from './nest-log.js'
import { withSecretFiles } from './secret-files.js'
import { onStopSignal } from './stop-signal.js'
import { openTracing } from './trace/tracing.js'

/** What a service is started with. In one process with others it has settings of its own (bus account, database). */
export interface ServiceSetup {
  readonly name: ServiceName
  readonly settings: Settings
  readonly log: Logger
  /** The services that run in this process with it; absent where it runs alone. */
  readonly neighbours?: Neighbours
}

/**
 * What `<service>.module.ts` exports as `service`: all that a launcher needs to know of it.
 *
 * Nest's hooks carry the drain, in this order: `onModuleDestroy` stops taking work (listeners, bus subscriptions),
 * `beforeApplicationShutdown` waits for what is under way, `onApplicationShutdown` closes bus and database.
 */
export interface ServiceDefinition {
  readonly name: ServiceName
  /** The root module. `SETTINGS` and `LOG` can be injected anywhere below it. */
  module(setup: ServiceSetup): DynamicModule | Type
  /** Opens the application; an application context unless given. Resolves when the service can serve. */
  open?(module: DynamicModule, setup: ServiceSetup): Promise<INestApplicationContext>
  /** Rejects when the service can't serve now, for the health check. */
  healthy?(app: INestApplicationContext): Promise<void>
  /** Whether the processes that it works with were heard; without it there are none. */
  complete?(app: INestApplicationContext): boolean
}

export interface RunningService {
  readonly name: ServiceName
  readonly app: INestApplicationContext
  healthy(): Promise<void>
  complete(): boolean
  /** Drains and closes; resolves when nothing of the service is left. */
  close(): Promise<void>
}

/** The logger of this service as a Nest provider's token. */
export const LOG = Symbol('log')

/** Milliseconds that a service has for its drain before its process ends anyway. */
const drainWithin = 20_000

class ServiceRoot {}

/** Starts a service within this process. Throws what its module throws at boot. */
export async function startService(definition: ServiceDefinition, setup: ServiceSetup): Promise<RunningService> {
  const module: DynamicModule = {
    module: ServiceRoot,
    global: true,
    imports: [definition.module(setup)],
    providers: [
      { provide: SETTINGS, useValue: setup.settings },
      { provide: LOG, useValue: setup.log },
    ],
    exports: [SETTINGS, LOG],
  }
  const open = definition.open ?? openContext
  const app = await open(module, setup)
  return {
    name: definition.name,
    app,
    healthy: async () => definition.healthy?.(app),
    complete: () => definition.complete?.(app) ?? true,
    close: () => app.close(),
  }
}

/** Main of a process that is one service: reads and checks the settings, serves, drains on SIGTERM and SIGINT. */
export async function runService(definition: ServiceDefinition): Promise<void> {
  const log = createLogger(definition.name)
  const state: HealthState = { phase: 'starting', check: async () => undefined }
  let closeTracing = async (): Promise<void> => undefined
  let service: RunningService | undefined
  // Before the start: the first process of a container ignores a signal that it has no handler for. A service that is
  // still starting has taken no work and ends at once.
  onStopSignal({
    log,
    within: drainWithin,
    drain: async () => {
      state.phase = 'draining'
      await service?.close()
      await closeTracing()
    },
  })
  try {
    const settings = loadSettings(withSecretFiles(process.env))
    closeTracing = await openTracing(`svc-${definition.name}`, process.env)
    await listenForHealth(definition.name, settings.SVC_HEALTH_LISTEN, state)
    const running = await startService(definition, { name: definition.name, settings, log })
    service = running
    Object.assign(state, { phase: 'serving', check: () => running.healthy() })
    log.info({ pid: process.pid }, 'serving')
  } catch (error) {
    log.fatal({ err: error }, `${definition.name} can’t start: ${(error as Error).message}`)
    process.exit(1)
  }
}

const openContext = (module: DynamicModule, { log }: ServiceSetup): Promise<INestApplicationContext> =>
  NestFactory.createApplicationContext(module, { logger: nestLog(log), abortOnError: false })
