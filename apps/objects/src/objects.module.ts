import { type DynamicModule, type FactoryProvider, Module, type Provider, type Type } from '@nestjs/common'
import { operations } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { BusModule } from '#common/kernel/bus/bus.module.js'
import { CLOCK, type Clock, systemClock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { Database } from '#common/kernel/database/database.js'
import { Inbox } from '#common/kernel/database/inbox.js'
import { Outbox } from '#common/kernel/database/outbox.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SchemaThread } from '#common/kernel/schema/schema.thread.js'
import { LOG, type ServiceDefinition, type ServiceSetup } from '#common/kernel/service.js'
import { PublicationCheckRpc } from './check/publication-check.rpc.js'
import { PublicationCheck } from './check/publication-check.service.js'
import { Acks } from './delivery/ack.repository.js'
import { AckService } from './delivery/ack.service.js'
import { DeliveryRepository } from './delivery/delivery.repository.js'
import { DeliveryRpc } from './delivery/delivery.rpc.js'
import { EventRepository } from './delivery/event.repository.js'
import { HistoryRepository } from './delivery/history.repository.js'
import { HistoryService } from './delivery/history.service.js'
import { ReceivingObjects } from './delivery/receiving.object.js'
import { Wake } from './delivery/wake.js'
import { Housekeeping } from './housekeeping.js'
import { LedgerRepository } from './ledger/ledger.repository.js'
import { LedgerRpc } from './ledger/ledger.rpc.js'
import { LedgerService } from './ledger/ledger.service.js'
import { CanvasFollower } from './node/canvas.follower.js'
import { EventHands } from './node/event.hands.js'
import { FollowRepository } from './node/follow.repository.js'
import { NodeCarrier } from './node/node.carrier.js'
import { NodePassages } from './node/node.passages.js'
import { NodePublications } from './node/node.publications.js'
import { NodeEndRpc } from './node/node-end.rpc.js'
import { NodeEnds } from './node/node-end.service.js'
import { NodeWatchRepository } from './node/node-watch.repository.js'
import { CatalogCheck } from './object/catalog.check.js'
import { ObjectChange } from './object/object.change.js'
import { ObjectRepository } from './object/object.repository.js'
import { ObjectRpc } from './object/object.rpc.js'
import { ObjectService } from './object/object.service.js'
import { ObjectViews } from './object/object.view.js'
import { ReceiverRepository } from './object/receiver.repository.js'
import { RegisterService } from './object/register.service.js'
import { SigningKey } from './object/signing.secret.js'
import { UnregisterService } from './object/unregister.service.js'
import { ObjectsLifetime, type Running } from './objects.lifetime.js'
import { AcceptanceRepository } from './publish/acceptance.repository.js'
import { AcceptanceService } from './publish/acceptance.service.js'
import { Acceptor } from './publish/acceptor.js'
import { Expansion } from './publish/expansion.js'
import { FanOut } from './publish/fan-out.js'
import { FanoutRepository } from './publish/fanout.repository.js'
import { ObjectCatalogs } from './publish/object.catalogs.js'
import { PublicationRepository } from './publish/publication.repository.js'
import { PublishRpc } from './publish/publish.rpc.js'
import { PublishService } from './publish/publish.service.js'
import { RefusalRepository } from './publish/refusal.repository.js'
import { Refusals } from './publish/refusals.js'
import { SpreadRepository } from './publish/spread.repository.js'
import { OpenStreams } from './receive/open.streams.js'
import { ReceiveRpc } from './receive/receive.rpc.js'
import { ReceiveService } from './receive/receive.service.js'
import { ConcernRelay } from './relay/concern.relay.js'
import { RetentionRepository } from './retention.repository.js'
import { ArgvCarrier } from './send/argv.carrier.js'
import { HttpPost } from './send/http.post.js'
import { ReceiverKinds } from './send/receiver.kinds.js'
import { ReceiverRpc } from './send/receiver.rpc.js'
import { ReceiverService } from './send/receiver.service.js'
import { SendLedger } from './send/send.ledger.js'
import { SendRepository } from './send/send.repository.js'
import { Senders } from './send/senders.js'
import { UrlCarrier } from './send/url.carrier.js'
import { StatusRepository } from './status/status.repository.js'
import { StatusRpc } from './status/status.rpc.js'
import { HeirRepository } from './watch/heir.repository.js'
import { WatchParties } from './watch/watch.parties.js'
import { WatchRepository } from './watch/watch.repository.js'
import { WatchRpc } from './watch/watch.rpc.js'
import { WatchService } from './watch/watch.service.js'
import { WatchedRepository } from './watch/watched.repository.js'
import { Watching } from './watch/watching.js'

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
const registry: Provider[] = [
  built(ObjectRepository),
  built(ReceiverRepository),
  built(WatchedRepository),
  built(HeirRepository),
  built(WatchRepository, WatchedRepository),
  built(CatalogCheck, SchemaThread),
  built(ObjectViews, WatchedRepository, ReceiverRepository),
  built(ObjectChange, ObjectRepository, ReceiverRepository, WatchRepository, Acks, Wake),
  built(WatchParties, Database, ObjectRepository, Bus),
  built(Watching, ObjectRepository, ReceiverRepository, WatchRepository, WatchedRepository, HeirRepository),
  built(
    RegisterService,
    Writer,
    Database,
    ObjectRepository,
    ReceiverRepository,
    WatchedRepository,
    Watching,
    WatchParties,
    CatalogCheck,
    ObjectChange,
    ObjectViews,
    SigningKey,
    CLOCK,
  ),
  built(
    ObjectService,
    Writer,
    Database,
    ObjectRepository,
    WatchedRepository,
    ObjectViews,
    CatalogCheck,
    ObjectChange,
    SigningKey,
    CLOCK,
  ),
  built(
    UnregisterService,
    Writer,
    Database,
    ObjectRepository,
    ReceiverRepository,
    WatchRepository,
    WatchedRepository,
    Wake,
    CLOCK,
  ),
  built(
    WatchService,
    Writer,
    Database,
    ObjectRepository,
    WatchRepository,
    WatchedRepository,
    WatchParties,
    Watching,
    CLOCK,
  ),
  ObjectRpc,
  WatchRpc,
]

/** From a publication to its deliveries. */
const publishing: Provider[] = [
  built(PublicationRepository),
  built(SpreadRepository),
  built(FanoutRepository),
  built(Expansion, SpreadRepository, FanoutRepository, Wake),
  built(FanOut, Writer, FanoutRepository, SpreadRepository, Expansion, Wake, CLOCK, LOG),
  built(AcceptanceRepository),
  built(AcceptanceService, Writer, AcceptanceRepository, PublicationRepository, Expansion, CLOCK),
  built(Acceptor, AcceptanceService),
  built(SchemaThread, CLOCK, LOG),
  built(ObjectCatalogs, Database, ObjectRepository, AcceptanceRepository, SchemaThread),
  built(RefusalRepository),
  built(Refusals, Database, RefusalRepository, CLOCK, LOG),
  built(PublishService, Database, ObjectCatalogs, AcceptanceRepository, Acceptor, Refusals, CLOCK),
  PublishRpc,
  built(PublicationCheck, ObjectCatalogs),
  PublicationCheckRpc,
]

/** From deliveries to whoever pulls them. */
const flow: Provider[] = [
  built(Wake, Bus),
  built(DeliveryRepository),
  built(EventRepository),
  built(HistoryRepository),
  built(Acks),
  built(ReceivingObjects, ObjectRepository),
  built(AckService, Writer, Database, ReceivingObjects, Acks),
  built(
    HistoryService,
    Writer,
    Database,
    ObjectRepository,
    ReceivingObjects,
    HistoryRepository,
    EventRepository,
    Wake,
    CLOCK,
  ),
  built(OpenStreams, Database, DeliveryRepository, Wake, Bus, CLOCK, LOG),
  built(ReceiveService, Database, ReceivingObjects, DeliveryRepository, Acks, OpenStreams, CLOCK),
  built(LedgerRepository),
  built(LedgerService, Database, LedgerRepository, CLOCK),
  built(StatusRepository),
  built(RetentionRepository),
  built(
    Housekeeping,
    Writer,
    Database,
    Inbox,
    ObjectRepository,
    UnregisterService,
    RetentionRepository,
    SETTINGS,
    CLOCK,
    LOG,
  ),
  DeliveryRpc,
  ReceiveRpc,
  LedgerRpc,
  StatusRpc,
]

/** Nodes as watchers, and as those who are watched. */
const nodes: Provider[] = [
  built(NodeWatchRepository, WatchedRepository),
  built(
    NodeEnds,
    Writer,
    Database,
    Inbox,
    NodeWatchRepository,
    HeirRepository,
    WatchedRepository,
    ReceiverRepository,
    CanvasFollower,
    CLOCK,
  ),
  built(EventHands, Bus),
  built(NodeCarrier, EventHands, NodeEnds, CLOCK, LOG),
  built(FollowRepository),
  built(NodePassages, PublicationRepository, WatchedRepository, NodeWatchRepository, HeirRepository),
  built(
    NodePublications,
    Writer,
    FollowRepository,
    NodePassages,
    PublicationRepository,
    Expansion,
    SpreadRepository,
    Wake,
    CLOCK,
  ),
  built(CanvasFollower, Bus, Database, FollowRepository, NodePublications, CLOCK, LOG),
  NodeEndRpc,
]

/** What the daemon sends by itself: to addresses, programs and nodes. */
const sending: Provider[] = [
  built(SendRepository),
  built(SendLedger, Writer, SendRepository, Acks, CLOCK),
  built(ReceiverKinds, Database, SendRepository, CLOCK, LOG),
  built(HttpPost, CLOCK),
  { provide: SigningKey, useFactory: (settings: Settings) => SigningKey.of(settings), inject: [SETTINGS] },
  built(UrlCarrier, HttpPost, SigningKey, CLOCK),
  built(ArgvCarrier, Bus, SETTINGS, CLOCK),
  built(
    Senders,
    Database,
    SendRepository,
    SendLedger,
    Wake,
    ReceiverKinds,
    CLOCK,
    LOG,
    UrlCarrier,
    ArgvCarrier,
    NodeCarrier,
  ),
  built(ConcernRelay, Database, Outbox, Bus, CLOCK, LOG),
  built(
    ReceiverService,
    Writer,
    Database,
    ReceivingObjects,
    ReceiverRepository,
    SendRepository,
    ObjectViews,
    Wake,
    CLOCK,
  ),
  ReceiverRpc,
]

/** What runs by itself, in the order in which the parts need each other. */
const running: Type<Running>[] = [
  Wake,
  ObjectCatalogs,
  Refusals,
  Acceptor,
  FanOut,
  OpenStreams,
  Housekeeping,
  ConcernRelay,
  CanvasFollower,
  Senders,
]

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
          neighbours: setup.neighbours,
          log: setup.log,
        }),
      ],
      providers: [
        ...kernel(setup, clock),
        ...registry,
        ...publishing,
        ...flow,
        ...nodes,
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

export const service: ServiceDefinition = {
  name: 'objects',
  module: (setup) => ObjectsModule.forRoot(setup),
  healthy: async (app) => {
    await app.get(Database, { strict: false }).query('SELECT 1')
  },
}
