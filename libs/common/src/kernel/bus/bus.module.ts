import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core'
import type { Operation, ServiceName } from '../../contract/define.js'
import { type Clock, systemClock } from '../clock.js'
import { createLogger, type Logger } from '../log.js'
import { subjects } from '../subjects.js'
import { Bus } from './bus.js'
import { BusServer } from './bus.server.js'
import { BusConnection } from './connection.js'
import type { FoundHandler } from './endpoints.js'
import { marksOf } from './handles.decorator.js'
import { defaultPulse, type Pulse } from './heartbeat.js'
import { Inbox } from './inbox.js'
import type { Neighbours } from './neighbours.js'

export interface BusModuleOptions {
  readonly service: ServiceName
  /** `nats://user:password@host:port`. */
  readonly url: string
  /** Name of the connection; `svc-<service>` unless given. */
  readonly name?: string
  /** The services that run in this process with it. */
  readonly neighbours?: Neighbours | undefined
  /** The contract. */
  readonly operations: readonly Operation[]
  /** Names of this service's operations that are served without the bus. */
  readonly except?: readonly string[]
  /** For `host`: which one. */
  readonly hostId?: string
  /**
   * `boot`: takes commands once all providers are there. `explicit`: when `BusServer.listen()` is called, as a writer
   * does that must hold its lease first. `never`: asks only.
   */
  readonly listen?: 'boot' | 'explicit' | 'never'
  readonly log?: Logger
  readonly clock?: Clock
  readonly pulse?: Pulse
}

const OPTIONS = Symbol('bus options')

/**
 * The bus of one service: `Bus` to ask, `BusServer` to answer. One Nest application holds one.
 *
 * Handlers are the methods of any provider with `@Handles` or `@Streams`; boot fails unless they fit the contract. At
 * shutdown it first takes no more commands, then finishes those in hand, then drains the connection.
 */
@Module({})
export class BusModule
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown
{
  constructor(
    @Inject(OPTIONS) private readonly options: BusModuleOptions,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
    @Inject(BusConnection) private readonly connection: BusConnection,
    @Inject(BusServer) private readonly server: BusServer,
  ) {}

  static forRoot(options: BusModuleOptions): DynamicModule {
    const { service, url, name = `svc-${service}`, clock = systemClock, pulse = defaultPulse, neighbours } = options
    const near = neighbours && { service, neighbours }
    const log = options.log ?? createLogger(service)
    return {
      module: BusModule,
      global: true,
      imports: [DiscoveryModule],
      providers: [
        MetadataScanner,
        { provide: OPTIONS, useValue: options },
        {
          provide: BusConnection,
          useFactory: () => BusConnection.open({ url, name, clock, log, ...(near && { near }) }),
        },
        {
          provide: Inbox,
          useFactory: (connection: BusConnection) => Inbox.open(connection, subjects.inbox(service)),
          inject: [BusConnection],
        },
        {
          provide: Bus,
          useFactory: (connection: BusConnection, inbox: Inbox) => new Bus({ connection, inbox, clock, log, pulse }),
          inject: [BusConnection, Inbox],
        },
        {
          provide: BusServer,
          useFactory: (connection: BusConnection, inbox: Inbox) =>
            new BusServer({ ...options, connection, inbox, clock, log, pulse }),
          inject: [BusConnection, Inbox],
        },
      ],
      exports: [Bus, BusServer, BusConnection],
    }
  }

  /** All providers exist by now, and no `onApplicationBootstrap` has run, where a writer may already want to listen. */
  async onModuleInit(): Promise<void> {
    if (this.options.listen === 'never') return
    try {
      this.server.handle(this.#found())
    } catch (error) {
      await this.connection.drain()
      throw error
    }
  }

  async onApplicationBootstrap(): Promise<void> {
    if ((this.options.listen ?? 'boot') === 'boot') await this.server.listen()
  }

  async onModuleDestroy(): Promise<void> {
    await this.server.pause()
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.server.drain()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.connection.drain()
  }

  #found(): FoundHandler[] {
    return [...this.discovery.getProviders(), ...this.discovery.getControllers()].flatMap(({ instance }) => {
      if (typeof instance !== 'object' || instance === null) return []
      const methods = instance as Record<string, FoundHandler['method']>
      return this.scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object).flatMap((name) => {
        const method = methods[name] as FoundHandler['method']
        const where = `${(instance as object).constructor.name}.${name}`
        return marksOf(method).map((mark) => ({ ...mark, where, method: method.bind(instance) }))
      })
    })
  }
}
