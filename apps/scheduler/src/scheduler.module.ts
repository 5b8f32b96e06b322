import { type DynamicModule, type FactoryProvider, Module, type Provider, type Type } from '@nestjs/common'
import { operations } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { BusModule } from '#common/kernel/bus/bus.module.js'
import { CLOCK, type Clock, systemClock } from '#common/kernel/clock.js'
import { SETTINGS } from '#common/kernel/config.js'
import { Database } from '#common/kernel/database/database.js'
import { Inbox } from '#common/kernel/database/inbox.js'
import { Outbox } from '#common/kernel/database/outbox.js'
import { Writer } from '#common/kernel/database/writer.js'
import { LOG, type ServiceDefinition, type ServiceSetup } from '#common/kernel/service.js'
import { CreateCronService } from './cron/create-cron.service.js'
import { CronRemoval } from './cron/cron.removal.js'
import { CronRepository } from './cron/cron.repository.js'
import { CronRpc } from './cron/cron.rpc.js'
import { CronService } from './cron/cron.service.js'
import { CronTimes } from './cron/cron.times.js'
import { HistoryRepository } from './cron/history.repository.js'
import { HolderRepository } from './cron/holder.repository.js'
import { Claims } from './fire/claim.service.js'
import { CommandRunner } from './fire/command.runner.js'
import { FireCarrier } from './fire/fire.carrier.js'
import { FireEnds } from './fire/fire.end.service.js'
import { FireRepository } from './fire/fire.repository.js'
import { FireRpc } from './fire/fire.rpc.js'
import { Follower } from './fire/follower.js'
import { Publisher } from './fire/publisher.js'
import { RunService } from './fire/run.service.js'
import { SlotDecider } from './fire/slot.decider.js'
import { Starter } from './fire/starter.js'
import { Sweep } from './fire/sweep.js'
import { Housekeeping } from './housekeeping.js'
import { LedgerRepository } from './ledger/ledger.repository.js'
import { LedgerRpc } from './ledger/ledger.rpc.js'
import { LedgerService } from './ledger/ledger.service.js'
import { NodeEndRpc } from './node-end/node-end.rpc.js'
import { NodeEndService } from './node-end/node-end.service.js'
import { NodeSuccessionService } from './node-end/node-succession.service.js'
import { ConcernRelay } from './relay/concern.relay.js'
import { RetentionRepository } from './retention.repository.js'
import { SchedulerLifetime } from './scheduler.lifetime.js'
import { RedisCheck } from './status/redis.check.js'
import { StatusRpc } from './status/status.rpc.js'
import { Refill } from './timer/refill.js'
import { Timers } from './timer/timers.js'

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

const schedules: Provider[] = [
  built(CronRepository),
  built(HistoryRepository),
  built(HolderRepository),
  built(CronRemoval, CronRepository, HistoryRepository, Timers, CLOCK),
  built(CreateCronService, Writer, Bus, Publisher, CronRepository, HolderRepository, CronRemoval, Timers, CLOCK),
  built(CronService, Writer, Database, CronRepository, HistoryRepository, SlotDecider, CronRemoval, Timers, CLOCK),
  built(CronTimes, Database, CronRepository, CLOCK),
  built(LedgerRepository),
  built(LedgerService, Database, LedgerRepository),
  built(NodeEndService, Writer, Inbox, CronRepository, HolderRepository, CronRemoval),
  built(NodeSuccessionService, Writer, Inbox, CronRepository, HistoryRepository, HolderRepository, CronRemoval, CLOCK),
  built(RetentionRepository),
  built(
    Housekeeping,
    Writer,
    Inbox,
    HistoryRepository,
    CronRemoval,
    HolderRepository,
    RetentionRepository,
    SETTINGS,
    CLOCK,
    LOG,
  ),
  CronRpc,
  LedgerRpc,
  NodeEndRpc,
  StatusRpc,
]

const firing: Provider[] = [
  built(Timers, SETTINGS, CLOCK, LOG),
  built(Refill, Database, FireRepository, Timers, LOG),
  built(FireRepository),
  built(Starter, FireRepository, CLOCK),
  built(SlotDecider, FireRepository, CronRepository, Starter, LOG),
  built(Claims, Writer, SlotDecider, Timers, CLOCK, LOG),
  built(FireEnds, Writer, FireRepository, CronRepository, CronRemoval, Starter, CLOCK, LOG),
  built(CommandRunner, Database, FireRepository, Bus, SETTINGS, CLOCK, LOG),
  built(Publisher, Database, FireRepository, Bus, CLOCK),
  built(FireCarrier, Database, FireRepository, FireEnds, CommandRunner, Publisher, Bus, CLOCK, LOG),
  built(Follower, Database, FireRepository, FireEnds, Bus, CLOCK, LOG),
  built(Sweep, Database, FireRepository, Claims, FireEnds, Starter, Refill, CLOCK, LOG),
  built(RunService, Writer, FireRepository, CronRepository, Starter, Sweep, Refill, CLOCK),
  built(ConcernRelay, Database, Outbox, Bus, CLOCK, LOG),
  built(
    SchedulerLifetime,
    Database,
    Timers,
    Refill,
    Claims,
    Starter,
    FireCarrier,
    FireEnds,
    Sweep,
    Follower,
    ConcernRelay,
    Housekeeping,
    CLOCK,
  ),
  FireRpc,
]

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
      providers: [...kernel(setup, clock), ...schedules, ...firing],
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
