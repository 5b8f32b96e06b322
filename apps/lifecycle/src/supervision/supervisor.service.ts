import { Inject, Injectable } from '@nestjs/common'
import type { BrokerExit } from '#common/contract/internal.operations.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { hasCode } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { JournalRepository } from '../broker/journal.repository.js'
import { LastWord } from '../broker/last-word.service.js'
import { ContextService } from '../context/context.service.js'
import { SuccessionService } from '../context/succession.service.js'
import { isHeld } from '../fault/fault.hold.js'
import { FaultProber } from '../fault/fault.prober.js'
import { type Equipped, GrantHold } from '../grant/grant.hold.js'
import { HumanResolutions } from '../human/human-resolution.service.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import { type Family, NodeRepository } from '../node/node.repository.js'
import { WaitClock } from '../wait/wait.clock.js'
import { WorktreeCarrier } from '../worktree/worktree.carrier.js'
import { exitText } from './exit.text.js'
import { HostRegistry } from './host.registry.js'
import { afterLoss, type LaunchLimits, nextStep, type Situation, type Step } from './launch.policy.js'
import { launchTimeOf } from './launch.time.js'
import { type Launched, Launcher } from './launcher.js'

/** A heartbeat counts against a process only when it came this long after its launch: one under way may be older (ms). */
const heartbeatMargin = 3000

/**
 * Level-triggered: on every tick, and whenever something may have changed, compares what each node should be with what
 * its host says, and takes the one step that `launch.policy` names.
 */
@Injectable()
export class Supervisor {
  private stopped = true
  private callOff: () => void = () => undefined
  private running: Promise<void> = Promise.resolve()
  private again = false
  private readonly limits: LaunchLimits

  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly engagements: Engagements,
    private readonly journal: JournalRepository,
    private readonly lastWord: LastWord,
    private readonly launcher: Launcher,
    private readonly hosts: HostRegistry,
    private readonly worktrees: WorktreeCarrier,
    private readonly questions: HumanResolutions,
    private readonly waits: WaitClock,
    private readonly prober: FaultProber,
    private readonly contexts: ContextService,
    private readonly successions: SuccessionService,
    private readonly grants: GrantHold,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.limits = {
      bootGraceMs: settings.SVC_BOOT_GRACE_MS,
      launchBudget: settings.SVC_LAUNCH_BUDGET,
      launchWindowMs: settings.SVC_LAUNCH_WINDOW_MS,
    }
  }

  start(): void {
    this.stopped = false
    this.poke()
  }

  async stop(): Promise<void> {
    this.stopped = true
    this.callOff()
    await this.running
    await this.prober.settled()
  }

  /** Looks at every node soon; several pokes become one look. */
  poke(): void {
    if (this.stopped || this.again) return
    this.again = true
    this.running = this.running.then(() => this.tick())
  }

  /** A host says that a process is gone, with its whole tree. */
  async exited(exit: BrokerExit): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const family = await this.nodes.findFamily(ctx.tx, exit.node_id)
      if (!family) return
      const { node } = family
      if (node.generation !== exit.generation) return
      if (node.status !== 'active') {
        await this.lastWord.say(ctx, node)
        await this.engagements.reopen(ctx, node)
        return
      }
      const losses = node.launches.map((at) => at.getTime())
      this.take(ctx, family, afterLoss(losses, this.clock.now(), this.limits), exitText(exit))
    })
  }

  private async tick(): Promise<void> {
    this.again = false
    if (this.stopped) return
    this.callOff()
    let next = this.settings.SVC_RECONCILE_MS
    try {
      await this.reconcile()
      next = Math.min(next, (await this.waits.nextIn()) ?? next)
    } catch (err) {
      this.log.warn({ err }, 'nodes could not be looked at; trying again')
    }
    if (!this.stopped) this.callOff = this.clock.after(next, () => this.poke())
  }

  private async reconcile(): Promise<void> {
    await this.worktrees.reconcile()
    await this.questions.reconcile()
    await this.contexts.reconcile()
    await this.successions.reconcile()
    const active = await this.nodes.active(this.database)
    for (const node of active) {
      // each look may wait for a database that is away, and a stop waits for all of them
      if (this.stopped) return
      const step = nextStep(this.clock.now(), this.situationOf(node), this.limits)
      if (step.do === 'launch') this.launcher.launch(node.id)
      else if (step.do !== 'leave') await this.guarded(node.id, () => this.settle(node.id))
    }
    this.launcher.retain(new Set(active.map((node) => node.id)))
    await this.cutTooWide(active)
    this.prober.look(active)
    for (const id of await this.waits.due()) await this.guarded(id, () => this.waits.wake(id))
    await this.endStrays(active)
    for (const id of await this.journal.endedWithOpenCalls(this.database)) {
      await this.guarded(id, () => this.closeRecord(id))
    }
  }

  /** The net for exits that nobody told: a host that died has told none. */
  private async closeRecord(id: string): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const node = await this.nodes.lock(ctx.tx, id)
      const since = node.updated_at.getTime() + heartbeatMargin
      if (this.hosts.hasNone(id, node.generation, since)) await this.lastWord.say(ctx, node)
    })
  }

  /** What fails for one node must not keep the others from being looked at. */
  private async guarded(nodeId: string, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (err) {
      if (hasCode(err, 'not_leader')) throw err
      this.log.error({ err, node_id: nodeId }, 'a node could not be looked after; trying again')
    }
  }

  /** Takes the step for a node as it is now, under its lock. */
  private async settle(id: string): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const family = await this.nodes.lockFamily(ctx.tx, id)
      const step = nextStep(this.clock.now(), this.situationOf(family.node), this.limits)
      this.take(ctx, family, step, 'its process is gone')
    })
  }

  private take(ctx: TxContext, family: Family, step: Step, lossText: string): void {
    switch (step.do) {
      case 'relaunch':
        this.engagements.relaunch(ctx, family.node, { reason: lossText, delayMs: step.delayMs, losses: step.losses })
        return
      case 'give_up':
        this.engagements.crash(ctx, family, {
          kind: step.why === 'crash_loop' ? 'crash_loop' : 'other',
          message:
            step.why === 'crash_loop'
              ? `Its process was lost ${this.limits.launchBudget} times in ${this.limits.launchWindowMs / 60_000} minutes; last: ${lossText}`
              : `Its process did not start to work within ${this.limits.bootGraceMs / 1000} s.`,
        })
        return
      case 'launch':
      case 'leave':
        return
    }
  }

  private situationOf(node: NodeRecord): Situation {
    const launch = this.launcher.launchOf(node.id, node.generation)
    return {
      status: node.status,
      generation: node.generation,
      brokerState: node.broker_state,
      launchedFor: launch ? this.clock.monotonic() - launch.at : null,
      notBefore: launchTimeOf(node, this.clock.now()),
      held: isHeld(node),
      losses: node.launches.map((at) => at.getTime()),
      hosted: this.hostedOf(node, launch),
    }
  }

  private hostedOf(node: NodeRecord, launch: Launched | undefined): Situation['hosted'] {
    if (this.hosts.hostOf(node.id, node.generation)) return 'yes'
    const hostId = node.broker_host_id ?? launch?.hostId
    const host = hostId === undefined ? undefined : this.hosts.find(hostId)
    if (!host) return 'unknown'
    if (launch) {
      if (launch.incarnation !== host.incarnation) return 'lost_with_host'
      return host.heardAt > launch.at + heartbeatMargin ? 'no' : 'unknown'
    }
    // launched before this process led: an exit that the host saw is told by the host itself
    const boundAt = node.broker_bound_at?.getTime() ?? 0
    return host.seenAt > boundAt + heartbeatMargin ? 'lost_with_host' : 'unknown'
  }

  /** Processes whose mounts and shell are more than the grant of their app permits now. */
  private async cutTooWide(active: readonly NodeRecord[]): Promise<void> {
    const equipped = this.hosts.equipped()
    for (const id of await this.grants.tooWide(active, equipped)) {
      await this.guarded(id, () => this.grants.cut(id, equipped.get(id) as Equipped))
    }
  }

  /** Processes of nodes that need none, or of an older generation: their end was asked for and not carried out. */
  private async endStrays(active: readonly NodeRecord[]): Promise<void> {
    const wanted = new Map(active.map((node) => [node.id, node.generation]))
    for (const host of this.hosts.present()) {
      for (const broker of host.brokers) {
        const generation = wanted.get(broker.node_id)
        if (generation !== undefined && broker.generation >= generation) continue
        await this.guarded(broker.node_id, () => this.endStray(broker.node_id, broker.generation))
      }
    }
  }

  private async endStray(nodeId: string, generation: number): Promise<void> {
    const node = await this.nodes.find(this.database, nodeId)
    const resting = node && node.generation === generation && node.status !== 'canceled'
    const settledFor = node ? this.clock.now() - node.updated_at.getTime() : Number.POSITIVE_INFINITY
    if (resting && (node.status === 'active' || settledFor < this.limits.bootGraceMs)) return
    this.launcher.stop(nodeId, generation)
  }
}
