import { type DynamicModule, type FactoryProvider, Module, type Provider, type Type } from '@nestjs/common'
import { operations } from '#common/contract/index.js'
import { BusModule } from '#common/kernel/bus/bus.module.js'
import { CLOCK, type Clock, systemClock } from '#common/kernel/clock.js'
import { Database } from '#common/kernel/database/database.js'
import { Inbox } from '#common/kernel/database/inbox.js'
import { Outbox } from '#common/kernel/database/outbox.js'
import { Writer } from '#common/kernel/database/writer.js'
import { LOG, type ServiceDefinition, type ServiceSetup } from '#common/kernel/service.js'
import { SchedulerLifetime } from './scheduler.lifetime.js'
import { RedisCheck } from './status/redis.check.js'
import { StatusRpc } from './status/status.rpc.js'

type Token = Type | symbol

/** A class built from other providers, in the order of its constructor. */
const built = <T>(type: new (...args: never[]) => T, ...inject: Token[]): FactoryProvider<T> => ({
  provide: type,
  useFactory: (...args: unknown[]) => new type(...(args as never[])),
  inject,
})

const kernel = ({ settings, log }: ServiceSetup, clock: Clock): Provider[] => {
  const url = settings.DATABASE_URL as string
  const outbox = new Outbox('scheduler')
  return [
    { provide: CLOCK, useValue: clock },
    { provide: LOG, useValue: log },
    { provide: Outbox, useValue: outbox },
    { provide: Inbox, useValue: new Inbox('scheduler') },
    { provide: Database, useFactory: () => new Database({ url, application: 'svc scheduler', log }) },
    {
      provide: Writer,
      // by the machine's clock, as the deadlines of those who call
      useFactory: (database: Database) => new Writer({ database, schema: 'scheduler', log, outbox }),
      inject: [Database],
    },
    { provide: RedisCheck, useFactory: () => new RedisCheck(settings.REDIS_URL, log) },
  ]
}

const features: Provider[] = [built(SchedulerLifetime, Database), StatusRpc]

/** Home of schedules: when something is to happen, and what became of it. Any number of replicas share the work. */
@Module({})
export class SchedulerModule {
  /** @param clock what tells the time of slots; the machine's unless given */
  static forRoot(setup: ServiceSetup, clock: Clock = systemClock): DynamicModule {
    const { NATS_URL: url, DATABASE_URL: database } = setup.settings
    if (!url || !database) throw new Error('scheduler needs NATS_URL and DATABASE_URL')
    return {
      module: SchedulerModule,
      imports: [
        BusModule.forRoot({ service: 'scheduler', url, operations, neighbours: setup.neighbours, log: setup.log }),
      ],
      providers: [...kernel(setup, clock), ...features],
    }
  }
}

export const service: ServiceDefinition = {
  name: 'scheduler',
  module: (setup) => SchedulerModule.forRoot(setup),
  healthy: async (app) => {
    await app.get(Database, { strict: false }).query('SELECT 1')
  },
}
