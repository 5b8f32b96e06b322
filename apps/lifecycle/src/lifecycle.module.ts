import { join } from 'node:path'
import { type DynamicModule, Module } from '@nestjs/common'
import { operations } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { BusModule } from '#common/kernel/bus/bus.module.js'
import { CLOCK, systemClock } from '#common/kernel/clock.js'
import { Database } from '#common/kernel/database/database.js'
import { EventLog } from '#common/kernel/database/events.js'
import { Outbox } from '#common/kernel/database/outbox.js'
import { Writer } from '#common/kernel/database/writer.js'
import { loadNodeTokenKey } from '#common/kernel/node-token-key.js'
import type { ServiceDefinition, ServiceSetup } from '#common/kernel/service.js'
import { subjects } from '#common/kernel/subjects.js'
import { AttachmentRepository } from './attachment/attachment.repository.js'
import { AttachmentRpc } from './attachment/attachment.rpc.js'
import { AttachmentService } from './attachment/attachment.service.js'
import { BindService } from './broker/bind.service.js'
import { BrokerRpc } from './broker/broker.rpc.js'
import { DeltaService } from './broker/delta.service.js'
import { InProgressStore } from './broker/in-progress.store.js'
import { JournalRepository } from './broker/journal.repository.js'
import { JournalService } from './broker/journal.service.js'
import { LastWord } from './broker/last-word.service.js'
import { SignalHub } from './broker/signal.hub.js'
import { SignalService } from './broker/signal.service.js'
import { isOfOpenTurn } from './broker/turn.keys.js'
import { TurnEndService } from './broker/turn-end.service.js'
import { CancelService } from './cancel/cancel.service.js'
import { KinRepository } from './cancel/kin.repository.js'
import { AttentionService } from './canvas/attention.service.js'
import { CanvasRepository } from './canvas/canvas.repository.js'
import { CanvasRpc } from './canvas/canvas.rpc.js'
import { CanvasService } from './canvas/canvas.service.js'
import { CanvasEventRepository } from './canvas/canvas-event.repository.js'
import { CanvasEventService } from './canvas/canvas-event.service.js'
import { Horizons } from './canvas/horizon.js'
import { PruneRepository } from './canvas/prune.repository.js'
import { PruneService } from './canvas/prune.service.js'
import { CareRpc } from './care/care.rpc.js'
import { NodeChanges } from './care/node.changes.js'
import { RoleService } from './care/role.service.js'
import { UpdateService } from './care/update.service.js'
import { ConcernRepository } from './concern/concern.repository.js'
import { ConcernRpc } from './concern/concern.rpc.js'
import { ConcernService } from './concern/concern.service.js'
import { ContextRepository } from './context/context.repository.js'
import { ContextRpc } from './context/context.rpc.js'
import { ContextService } from './context/context.service.js'
import { ContextStart } from './context/context.start.js'
import { ForkRepository } from './context/fork.repository.js'
import { ForkService } from './context/fork.service.js'
import { Kickoffs } from './context/kickoff.service.js'
import { ReviveService } from './context/revive.service.js'
import { SuccessionRepository } from './context/succession.repository.js'
import { SuccessionService } from './context/succession.service.js'
import { TakeOver } from './context/take-over.service.js'
import { EventMailRepository } from './event-mail/event-mail.repository.js'
import { EventMailRpc } from './event-mail/event-mail.rpc.js'
import { EventMail } from './event-mail/event-mail.service.js'
import { EventService } from './events/event.service.js'
import { FaultProber } from './fault/fault.prober.js'
import { FaultRepository } from './fault/fault.repository.js'
import { FaultRpc } from './fault/fault.rpc.js'
import { FaultService } from './fault/fault.service.js'
import { FocusRepository } from './focus/focus.repository.js'
import { FocusRpc } from './focus/focus.rpc.js'
import { FocusService } from './focus/focus.service.js'
import { Ceilings } from './grant/ceilings.js'
import { GrantHold } from './grant/grant.hold.js'
import { GrantRepository } from './grant/grant.repository.js'
import { GrantRpc } from './grant/grant.rpc.js'
import { GrantService } from './grant/grant.service.js'
import { GrepService } from './history/grep.service.js'
import { HistoryIndexer } from './history/history.indexer.js'
import { HistoryQueue } from './history/history.queue.js'
import { HistoryRepository } from './history/history.repository.js'
import { HistoryRpc } from './history/history.rpc.js'
import { HistoryService } from './history/history.service.js'
import { IndexRepository } from './history/index.repository.js'
import { Housekeeping } from './housekeeping.js'
import { HumanRequestRepository } from './human/human-request.repository.js'
import { HumanRequestRpc } from './human/human-request.rpc.js'
import { HumanRequestService } from './human/human-request.service.js'
import { HumanResolutions } from './human/human-resolution.service.js'
import { JobCarrier } from './job/job.carrier.js'
import { JobLive } from './job/job.live.js'
import { JobQueue } from './job/job.queue.js'
import { JobReconciler } from './job/job.reconciler.js'
import { JobRepository } from './job/job.repository.js'
import { JobRpc } from './job/job.rpc.js'
import { JobService } from './job/job.service.js'
import { JobEndService } from './job/job-end.service.js'
import { Leader } from './leader.js'
import { LaunchCauses } from './ledger/launch.cause.js'
import { LedgerRepository } from './ledger/ledger.repository.js'
import { LedgerRpc } from './ledger/ledger.rpc.js'
import { LedgerService } from './ledger/ledger.service.js'
import { LifecycleRpc } from './lifecycle.rpc.js'
import { MailRepository } from './mail/mail.repository.js'
import { MailService } from './mail/mail.service.js'
import { CreateNodeService } from './node/create-node.service.js'
import { Engagements } from './node/engagement.service.js'
import { LongPolls } from './node/long.polls.js'
import { ModelCheck } from './node/model-check.js'
import { NodeAccess } from './node/node.access.js'
import { NodeRepository } from './node/node.repository.js'
import { NodeRpc } from './node/node.rpc.js'
import { NodeService } from './node/node.service.js'
import { NodeTransitions } from './node/node.transition.js'
import { NodeEndRelay } from './node/node-end.relay.js'
import { OutcomeService } from './node/outcome.service.js'
import { SchemaChecker } from './node/schema.checker.js'
import { Waiters } from './node/waiters.js'
import { KindRpc } from './persona/kind.rpc.js'
import { KindService, PERSONAS } from './persona/kind.service.js'
import { PersonaDirectory } from './persona/persona.directory.js'
import { ProfileRepository } from './profile/profile.repository.js'
import { ProfileRpc } from './profile/profile.rpc.js'
import { ProfileService } from './profile/profile.service.js'
import { ReportRepository } from './report/report.repository.js'
import { ReportService } from './report/report.service.js'
import { RetentionRepository } from './retention/retention.repository.js'
import { RetentionRpc } from './retention/retention.rpc.js'
import { RetentionService } from './retention/retention.service.js'
import { OwedRepository } from './revival/owed.repository.js'
import { ReviveAllRpc } from './revival/revive-all.rpc.js'
import { ReviveAllService } from './revival/revive-all.service.js'
import { RoadmapRepository } from './roadmap/roadmap.repository.js'
import { RoadmapRpc } from './roadmap/roadmap.rpc.js'
import { RoadmapService } from './roadmap/roadmap.service.js'
import { ConsentRepository } from './sandbox/consent.repository.js'
import { SandboxGate } from './sandbox/sandbox.gate.js'
import { SandboxRpc } from './sandbox/sandbox.rpc.js'
import { SandboxService } from './sandbox/sandbox.service.js'
import { StatusService } from './status.service.js'
import { SubscriptionRepository } from './subscription/subscription.repository.js'
import { SubscriptionRpc } from './subscription/subscription.rpc.js'
import { SubscriptionService } from './subscription/subscription.service.js'
import { HostRegistry } from './supervision/host.registry.js'
import { LaunchQueue } from './supervision/launch.queue.js'
import { LaunchRefusals } from './supervision/launch.refusal.js'
import { Launcher, NODE_TOKEN_KEY } from './supervision/launcher.js'
import { Supervisor } from './supervision/supervisor.service.js'
import { UsageService } from './usage/usage.service.js'
import { AttachService } from './viewer/attach.service.js'
import { ViewerRpc } from './viewer/viewer.rpc.js'
import { ViewerTickets } from './viewer/viewer.tickets.js'
import { SettleService } from './wait/settle.service.js'
import { WaitClock } from './wait/wait.clock.js'
import { WaitRpc } from './wait/wait.rpc.js'
import { WaitService } from './wait/wait.service.js'
import { WaitedForRepository } from './wait/waited-for.repository.js'
import { Authorities } from './work/authority.service.js'
import { WorkRepository } from './work/work.repository.js'
import { WorkRpc } from './work/work.rpc.js'
import { WorkService } from './work/work.service.js'
import { WorkStates } from './work/work.states.js'
import { WorktreeCarrier } from './worktree/worktree.carrier.js'
import { WorktreeHomes } from './worktree/worktree.home.js'
import { WorktreeHost } from './worktree/worktree.host.js'
import { WorktreeMaking } from './worktree/worktree.making.js'
import { WorktreeRepository } from './worktree/worktree.repository.js'
import { WorktreeRpc } from './worktree/worktree.rpc.js'
import { WorktreeService } from './worktree/worktree.service.js'

const kernel = ({ settings, log }: ServiceSetup) => [
  { provide: CLOCK, useValue: systemClock },
  {
    provide: PERSONAS,
    useFactory: () => new PersonaDirectory(settings.SVC_PERSONAS_DIR ?? join(settings.SVC_DATA_DIR, 'personas')),
  },
  { provide: NODE_TOKEN_KEY, useFactory: () => loadNodeTokenKey(settings) },
  {
    provide: Database,
    useFactory: () =>
      new Database({ url: settings.DATABASE_URL as string, application: 'svc lifecycle', log, leased: true }),
  },
  { provide: EventLog, useFactory: () => new EventLog(systemClock) },
  { provide: Outbox, useFactory: () => new Outbox('canvas') },
  {
    provide: Writer,
    useFactory: (database: Database, events: EventLog, outbox: Outbox, bus: Bus, history: HistoryQueue) =>
      new Writer({
        database,
        schema: 'canvas',
        log,
        keysKeptWhile: isOfOpenTurn,
        events,
        outbox,
        publish: (logged) => {
          for (const event of logged) {
            history.add(event.subject)
            try {
              bus.publish(subjects.nodeEvent(event.subject, event.type), event)
            } catch (err) {
              // the tail may lose what it can't carry: its readers find the gap and read the rows
              log.warn({ err, node_id: event.subject, seq: event.seq }, 'an event was not published')
            }
          }
        },
      }),
    inject: [Database, EventLog, Outbox, Bus, HistoryQueue],
  },
]

/** The gateway serves these from the log of record and the live tail. */
const readAtTheEdge = ['nodes.events', 'nodes.stream', 'canvas.events']

/** The one writer of the canvas, and the one that decides which process hosts a node. */
@Module({})
export class LifecycleModule {
  static forRoot(setup: ServiceSetup): DynamicModule {
    const { NATS_URL: url, DATABASE_URL: database } = setup.settings
    if (!url || !database) throw new Error('lifecycle needs NATS_URL and DATABASE_URL')
    return {
      module: LifecycleModule,
      imports: [
        BusModule.forRoot({
          service: 'lifecycle',
          url,
          operations,
          neighbours: setup.neighbours,
          except: readAtTheEdge,
          listen: 'explicit',
          log: setup.log,
        }),
      ],
      providers: [
        ...kernel(setup),
        NodeRepository,
        NodeTransitions,
        NodeAccess,
        NodeService,
        CreateNodeService,
        OutcomeService,
        Engagements,
        NodeEndRelay,
        ContextRepository,
        ContextStart,
        ContextService,
        Kickoffs,
        ReviveService,
        ForkRepository,
        ForkService,
        SuccessionRepository,
        SuccessionService,
        TakeOver,
        ContextRpc,
        ModelCheck,
        Waiters,
        LongPolls,
        KinRepository,
        CancelService,
        NodeChanges,
        UpdateService,
        RoleService,
        CareRpc,
        RoadmapRepository,
        RoadmapService,
        RoadmapRpc,
        SubscriptionRepository,
        SubscriptionService,
        SubscriptionRpc,
        OwedRepository,
        ReviveAllService,
        ReviveAllRpc,
        NodeRpc,
        KindService,
        KindRpc,
        ProfileRepository,
        ProfileService,
        ProfileRpc,
        Horizons,
        CanvasRepository,
        CanvasService,
        AttentionService,
        PruneRepository,
        PruneService,
        CanvasEventRepository,
        CanvasEventService,
        CanvasRpc,
        FocusRepository,
        FocusService,
        FocusRpc,
        HistoryQueue,
        IndexRepository,
        HistoryIndexer,
        HistoryRepository,
        HistoryService,
        GrepService,
        HistoryRpc,
        MailRepository,
        MailService,
        AttachmentRepository,
        AttachmentService,
        AttachmentRpc,
        HumanRequestRepository,
        HumanResolutions,
        HumanRequestService,
        HumanRequestRpc,
        ReportRepository,
        ReportService,
        JournalRepository,
        JournalService,
        LastWord,
        TurnEndService,
        FaultRepository,
        FaultService,
        FaultProber,
        FaultRpc,
        GrantRepository,
        Ceilings,
        GrantHold,
        GrantService,
        GrantRpc,
        WaitedForRepository,
        WaitService,
        SettleService,
        WaitClock,
        WaitRpc,
        BindService,
        DeltaService,
        SignalService,
        SignalHub,
        InProgressStore,
        BrokerRpc,
        ViewerTickets,
        AttachService,
        ViewerRpc,
        JobRepository,
        JobQueue,
        JobCarrier,
        JobService,
        JobEndService,
        JobReconciler,
        JobLive,
        JobRpc,
        WorktreeRepository,
        WorktreeHomes,
        WorktreeHost,
        WorktreeMaking,
        WorktreeCarrier,
        WorktreeService,
        WorktreeRpc,
        ConcernRepository,
        ConcernService,
        ConcernRpc,
        EventMailRepository,
        EventMail,
        EventMailRpc,
        Authorities,
        WorkRepository,
        WorkService,
        WorkStates,
        WorkRpc,
        EventService,
        UsageService,
        StatusService,
        HostRegistry,
        LaunchQueue,
        LaunchRefusals,
        ConsentRepository,
        SandboxGate,
        SandboxService,
        SandboxRpc,
        Launcher,
        Supervisor,
        RetentionRepository,
        RetentionService,
        RetentionRpc,
        Housekeeping,
        LaunchCauses,
        LedgerRepository,
        LedgerService,
        LedgerRpc,
        SchemaChecker,
        Leader,
        LifecycleRpc,
      ],
    }
  }
}

export const service: ServiceDefinition = {
  name: 'lifecycle',
  module: (setup) => LifecycleModule.forRoot(setup),
  healthy: async (app) => {
    await app.get(Database).query('SELECT 1')
  },
  complete: (app) => app.get(HostRegistry).present().length > 0,
}
