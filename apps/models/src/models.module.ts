import { join } from 'node:path'
import { type DynamicModule, type FactoryProvider, Module, type Provider, type Type } from '@nestjs/common'
import { operations } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { BusModule } from '#common/kernel/bus/bus.module.js'
import { CLOCK, systemClock } from '#common/kernel/clock.js'
import { SETTINGS } from '#common/kernel/config.js'
import { Database } from '#common/kernel/database/database.js'
import { Outbox } from '#common/kernel/database/outbox.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SchemaThread } from '#common/kernel/schema/schema.thread.js'
import { LOG, type ServiceDefinition, type ServiceSetup } from '#common/kernel/service.js'
import { CallEngine } from './call/call.engine.js'
import { CALL_LIMITS, type CallLimits, defaultCallLimits } from './call/call.limits.js'
import { CallSlots } from './call/call.slots.js'
import { ConfigRepository } from './config/config.repository.js'
import { ConfigRpc } from './config/config.rpc.js'
import { ConfigService } from './config/config.service.js'
import { CredentialKeyring } from './credential/credential.keyring.js'
import { CredentialRepository } from './credential/credential.repository.js'
import { CredentialRpc } from './credential/credential.rpc.js'
import { CredentialService } from './credential/credential.service.js'
import { CallKeys } from './llm/call.keys.js'
import { CallKeyRepository } from './llm/call-key.repository.js'
import { LlmRpc } from './llm/llm.rpc.js'
import { LlmService } from './llm/llm.service.js'
import { ModelsLifetime } from './models.lifetime.js'
import { ModelFactory } from './provider/model.factory.js'
import { ProviderHealth } from './provider/provider.health.js'
import { ProviderRegistry } from './provider/provider.registry.js'
import { ProviderProbe } from './readiness/provider.probe.js'
import { ReadinessRpc } from './readiness/readiness.rpc.js'
import { ReadinessService } from './readiness/readiness.service.js'
import { DatabaseSession } from './session/database-session.repository.js'
import { Holders } from './session/holder.repository.js'
import { AnswerSweep } from './turn/answer.sweep.js'
import { TurnRepository } from './turn/turn.repository.js'
import { TurnRpc } from './turn/turn.rpc.js'
import { TurnService } from './turn/turn.service.js'
import { TurnSweep } from './turn/turn.sweep.js'
import { BudgetService } from './usage/budget.service.js'
import { SpendRepository } from './usage/spend.repository.js'
import { UsageRelay } from './usage/usage.relay.js'

type Token = Type | symbol

/** A class built from other providers, in the order of its constructor. */
const built = <T>(type: new (...args: never[]) => T, ...inject: Token[]): FactoryProvider<T> => ({
  provide: type,
  useFactory: (...args: unknown[]) => new type(...(args as never[])),
  inject,
})

const kernel = ({ settings, log }: ServiceSetup, limits: CallLimits): Provider[] => {
  const url = settings.DATABASE_URL as string
  const keyFile = settings.SVC_CREDENTIALS_KEY_FILE ?? join(settings.SVC_DATA_DIR, 'keys/credentials.key')
  const outbox = new Outbox('models')
  return [
    { provide: CLOCK, useValue: systemClock },
    { provide: LOG, useValue: log },
    { provide: CALL_LIMITS, useValue: limits },
    { provide: Outbox, useValue: outbox },
    { provide: Database, useFactory: () => new Database({ url, application: 'svc models', log }) },
    {
      provide: Writer,
      useFactory: (database: Database) => new Writer({ database, schema: 'models', log, outbox }),
      inject: [Database],
    },
    { provide: DatabaseSession, useFactory: () => new DatabaseSession({ url, clock: systemClock, log }) },
    { provide: CredentialKeyring, useFactory: () => new CredentialKeyring(keyFile) },
    { provide: SchemaThread, useFactory: () => new SchemaThread(systemClock, log) },
    { provide: CallSlots, useFactory: () => new CallSlots(limits.waiting) },
    { provide: ProviderHealth, useFactory: () => new ProviderHealth(systemClock) },
  ]
}

const features: Provider[] = [
  built(Holders, Database, CLOCK),
  built(CredentialRepository),
  built(ConfigRepository),
  built(SpendRepository),
  built(TurnRepository),
  built(ModelFactory),
  built(
    ProviderRegistry,
    Database,
    ConfigRepository,
    CredentialRepository,
    CredentialKeyring,
    ProviderHealth,
    CLOCK,
    LOG,
  ),
  built(ProviderProbe, ProviderHealth, CLOCK),
  built(ReadinessService, ProviderRegistry, ProviderHealth, ProviderProbe),
  built(
    CredentialService,
    Database,
    Writer,
    CredentialRepository,
    ConfigRepository,
    CredentialKeyring,
    ProviderRegistry,
    ProviderHealth,
    CLOCK,
  ),
  built(ConfigService, Database, Writer, ConfigRepository, ProviderRegistry, CLOCK),
  built(CallEngine, ProviderRegistry, ModelFactory, ProviderHealth, CallSlots, CALL_LIMITS, SchemaThread, CLOCK, LOG),
  built(BudgetService, Database, ProviderRegistry, SpendRepository),
  built(CallKeyRepository),
  built(CallKeys, Database, CallKeyRepository, DatabaseSession, Holders, CLOCK, LOG),
  built(LlmService, Writer, CallEngine, BudgetService, SpendRepository, CallKeys, LOG),
  built(
    TurnService,
    Database,
    Writer,
    TurnRepository,
    CallEngine,
    BudgetService,
    SpendRepository,
    DatabaseSession,
    Holders,
    CLOCK,
    LOG,
  ),
  built(TurnSweep, Database, TurnRepository, Holders, CLOCK, LOG),
  built(AnswerSweep, Database, Writer, TurnRepository, SETTINGS, CLOCK, LOG),
  built(UsageRelay, Database, Outbox, Bus, CLOCK, LOG),
  built(
    ModelsLifetime,
    Database,
    DatabaseSession,
    ProviderRegistry,
    TurnService,
    UsageRelay,
    TurnSweep,
    AnswerSweep,
    SchemaThread,
  ),
  CredentialRpc,
  ConfigRpc,
  ReadinessRpc,
  LlmRpc,
  TurnRpc,
]

/** Home of the models: credentials, ladders, and every call of one. Any number of replicas share the work. */
@Module({})
export class ModelsModule {
  static forRoot(setup: ServiceSetup, given?: CallLimits): DynamicModule {
    const limits = given ?? { ...defaultCallLimits, firstToken: setup.settings.SVC_FIRST_TOKEN_MS }
    const { NATS_URL: url, DATABASE_URL: database } = setup.settings
    if (!url || !database) throw new Error('models needs NATS_URL and DATABASE_URL')
    return {
      module: ModelsModule,
      imports: [
        BusModule.forRoot({ service: 'models', url, operations, neighbours: setup.neighbours, log: setup.log }),
      ],
      providers: [...kernel(setup, limits), ...features],
    }
  }
}

export const service: ServiceDefinition = {
  name: 'models',
  module: (setup) => ModelsModule.forRoot(setup),
  healthy: async (app) => {
    await app.get(Database, { strict: false }).query('SELECT 1')
  },
}
