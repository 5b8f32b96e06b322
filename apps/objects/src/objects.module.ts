import { type DynamicModule, type FactoryProvider, Module, type Provider, type Type } from '@nestjs/common'
import { operations } from '#common/contract/index.js'
import { BusModule } from '#common/kernel/bus/bus.module.js'
import { CLOCK, type Clock, systemClock } from '#common/kernel/clock.js'
import { Database } from '#common/kernel/database/database.js'
import { Inbox } from '#common/kernel/database/inbox.js'
import { Outbox } from '#common/kernel/database/outbox.js'
import { Writer } from '#common/kernel/database/writer.js'
import { LOG, type ServiceDefinition, type ServiceSetup } from '#common/kernel/service.js'
import { ObjectsLifetime, type Running } from './objects.lifetime.js'

type Token = Type | symbol

/** A class built from other providers, in the order of its constructor. */
const built = <T>(type: new (...args: never[]) => T, ...inject: Token[]): FactoryProvider<T> => ({
  provide: type,
  useFactory: (...args: unknown[]) => new type(...(args as never[])),
  inject,
})

const kernel = ({ settings, log }: ServiceSetup, clock: Clock): Provider[] => {
  const url = settings.DATABASE_URL as string
  const outbox = new Outbox('objects')
  return [
    { provide: CLOCK, useValue: clock },
    { provide: LOG, useValue: log },
    { provide: Outbox, useValue: outbox },
    { provide: Inbox, useValue: new Inbox('objects') },
    { provide: Database, useFactory: () => new Database({ url, application: 'svc objects', log }) },
    {
      provide: Writer,
      useFactory: (database: Database) => new Writer({ database, schema: 'objects', log, outbox }),
      inject: [Database],
    },
  ]
}

/** What exists: objects, their catalogs and who watches what. */
const registry: Provider[] = []

/** From a publication to its deliveries, and to whoever pulls them. */
const flow: Provider[] = []

/** What the daemon sends by itself: to addresses, programs and nodes. */
const sending: Provider[] = []

/** What runs by itself, in the order in which the parts need each other. */
const running: Type<Running>[] = []

/** Home of custom objects: what publishes events, who watches it, and what of that is not delivered yet. */
@Module({})
export class ObjectsModule {
  /** @param clock the machine's unless given */
  static forRoot(setup: ServiceSetup, clock: Clock = systemClock): DynamicModule {
    const { NATS_URL: url, DATABASE_URL: database } = setup.settings
    if (!url || !database) throw new Error('objects needs NATS_URL and DATABASE_URL')
    return {
      module: ObjectsModule,
      imports: [
        BusModule.forRoot({
          service: 'objects',
          url,
          operations,
          except: unfinished,
          neighbours: setup.neighbours,
          log: setup.log,
        }),
      ],
      providers: [
        ...kernel(setup, clock),
        ...registry,
        ...flow,
        ...sending,
        {
          provide: ObjectsLifetime,
          useFactory: (own: Database, ...parts: Running[]) => new ObjectsLifetime(own, parts),
          inject: [Database, ...running],
        },
      ],
    }
  }
}

const unfinished = operations.filter(({ service: owner }) => owner === 'objects').map(({ name }) => name)

export const service: ServiceDefinition = {
  name: 'objects',
  module: (setup) => ObjectsModule.forRoot(setup),
  healthy: async (app) => {
    await app.get(Database, { strict: false }).query('SELECT 1')
  },
}
