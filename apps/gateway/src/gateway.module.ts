import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common'
import { PassportModule } from '@nestjs/passport'
import { operations, routes } from '#common/contract/index.js'
import { BusModule } from '#common/kernel/bus/bus.module.js'
import { CLOCK, type Clock, systemClock } from '#common/kernel/clock.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { loadNodeTokenKey } from '#common/kernel/node-token-key.js'
import type { ServiceDefinition, ServiceSetup } from '#common/kernel/service.js'
import { AccessHandlers } from './access/access.handlers.js'
import { AccessRepository } from './access/access.repository.js'
import { AccessService } from './access/access.service.js'
import { AccessWatch } from './access/access.watch.js'
import { AppHandlers } from './apps/app.handlers.js'
import { AppRepository } from './apps/app.repository.js'
import { AppService } from './apps/app.service.js'
import { AppSpread } from './apps/app.spread.js'
import { GrantRepository } from './apps/grant.repository.js'
import { GrantService } from './apps/grant.service.js'
import { GrantTeller } from './apps/grant.teller.js'
import { Grants } from './apps/grants.js'
import { AuditGuard } from './audit/audit.guard.js'
import { AuditHandlers } from './audit/audit.handlers.js'
import { AuditLog } from './audit/audit.log.js'
import { AuditRepository } from './audit/audit.repository.js'
import { AuditRetention } from './audit/audit.retention.js'
import { AuditScribe } from './audit/audit.scribe.js'
import { BearerGuard } from './auth/bearer.guard.js'
import { BearerStrategy } from './auth/bearer.strategy.js'
import { GateGuard } from './auth/gate.guard.js'
import { GateKeeper } from './auth/gate.keeper.js'
import { ListenerGuard } from './auth/listener.guard.js'
import { OriginGuard } from './auth/origin.guard.js'
import { Readmission } from './auth/readmission.js'
import { openGateway } from './gateway.open.js'
import { AllowedHosts } from './http/allowed.hosts.js'
import { AllowedOrigins } from './http/allowed.origins.js'
import { contractController } from './http/contract.controller.js'
import { Dispatcher } from './http/dispatcher.js'
import { HostRoute } from './http/host.route.js'
import { type HandlerGroup, LocalHandlers } from './http/local.handlers.js'
import { ProblemFilter } from './http/problem.filter.js'
import { LedgerHandlers } from './ledger/ledger.handlers.js'
import { LedgerService } from './ledger/ledger.service.js'
import { GuessLimit } from './limit/guess.limit.js'
import { LimitGuard } from './limit/limit.guard.js'
import { SharedCounters } from './limit/shared.counter.js'
import { GatewayListeners } from './listener/gateway.listeners.js'
import { TlsIdentity } from './listener/tls.identity.js'
import { ObjectHandlers } from './objects/object.handlers.js'
import { PublishTokenService } from './objects/publish-token.service.js'
import { CanvasWatch } from './stream/canvas.watch.js'
import { EventSource } from './stream/event.source.js'
import { FeedHub } from './stream/feed.hub.js'
import { LiveTail } from './stream/live.tail.js'
import { NodeWatch } from './stream/node.watch.js'
import { Passage } from './stream/passage.js'
import { SseClients } from './stream/sse.clients.js'
import { StatusService } from './system/status.service.js'
import { SystemHandlers } from './system/system.handlers.js'
import { NodePrincipals } from './tokens/node.principals.js'
import { OwnerToken } from './tokens/owner.token.js'
import { TokenHandlers } from './tokens/token.handlers.js'
import { TokenRepository } from './tokens/token.repository.js'
import { TokenService } from './tokens/token.service.js'
import { TokenUse } from './tokens/token.use.js'
import { NODE_TOKEN_KEY, TokenVerifier } from './tokens/token.verifier.js'
import { KeptKeys } from './trust/kept-keys.js'
import { TrustTail } from './trust/trust.tail.js'
import { TrustWatch } from './trust/trust.watch.js'

const kernel = ({ settings, log }: ServiceSetup, clock: Clock) => [
  { provide: CLOCK, useValue: clock },
  { provide: TlsIdentity, useFactory: () => TlsIdentity.of(settings) },
  { provide: AllowedHosts, useFactory: () => new AllowedHosts(settings) },
  { provide: NODE_TOKEN_KEY, useFactory: () => loadNodeTokenKey(settings) },
  {
    provide: Database,
    useFactory: () => new Database({ url: settings.DATABASE_URL as string, application: 'svc gateway', log, max: 4 }),
  },
  {
    provide: Writer,
    useFactory: (database: Database) => new Writer({ database, schema: 'gateway', log }),
    inject: [Database],
  },
]

/** What answers the gateway's own operations. */
const handlerGroups = [
  AuditHandlers,
  SystemHandlers,
  TokenHandlers,
  AccessHandlers,
  AppHandlers,
  LedgerHandlers,
  ObjectHandlers,
]

/** The edge: authenticate, gate, parse, one call, reply. */
@Module({})
export class GatewayModule implements OnApplicationShutdown {
  constructor(@Inject(Database) private readonly database: Database) {}

  static forRoot(setup: ServiceSetup, clock: Clock = systemClock): DynamicModule {
    const { NATS_URL: url, DATABASE_URL: database } = setup.settings
    if (!url || !database) throw new Error('gateway needs NATS_URL and DATABASE_URL')
    return {
      module: GatewayModule,
      imports: [
        BusModule.forRoot({
          service: 'gateway',
          url,
          operations,
          neighbours: setup.neighbours,
          listen: 'never',
          log: setup.log,
        }),
        PassportModule,
      ],
      controllers: [contractController(routes)],
      providers: [
        ...kernel(setup, clock),
        TokenRepository,
        OwnerToken,
        TokenService,
        TrustTail,
        NodePrincipals,
        AppRepository,
        GrantRepository,
        Grants,
        GrantTeller,
        AppSpread,
        AppService,
        GrantService,
        TokenUse,
        TokenVerifier,
        BearerStrategy,
        BearerGuard,
        GateKeeper,
        Readmission,
        GateGuard,
        ListenerGuard,
        OriginGuard,
        SharedCounters,
        GuessLimit,
        LimitGuard,
        AuditLog,
        AuditRepository,
        AuditRetention,
        KeptKeys,
        AuditScribe,
        AuditGuard,
        ProblemFilter,
        StatusService,
        LedgerService,
        PublishTokenService,
        ...handlerGroups,
        {
          provide: LocalHandlers,
          useFactory: (...groups: HandlerGroup[]) => new LocalHandlers(groups),
          inject: handlerGroups,
        },
        LiveTail,
        EventSource,
        FeedHub,
        SseClients,
        NodeWatch,
        CanvasWatch,
        Passage,
        HostRoute,
        Dispatcher,
        GatewayListeners,
        AllowedOrigins,
        AccessRepository,
        AccessService,
        AccessWatch,
        TrustWatch,
      ],
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.database.close()
  }
}

export const service: ServiceDefinition = {
  name: 'gateway',
  module: (setup) => GatewayModule.forRoot(setup),
  open: openGateway,
  // a database that is gone is for `status` to say: the edge still answers
  healthy: async (app) => {
    if (app.get(GatewayListeners).draining) throw new Error('it is draining')
  },
}
