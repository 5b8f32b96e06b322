import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { TxContext } from '#common/kernel/database/writer.js'
import { InProgressStore } from '../broker/in-progress.store.js'
import { SignalHub } from '../broker/signal.hub.js'
import { CancelService } from '../cancel/cancel.service.js'
import type { Kin } from '../cancel/kin.repository.js'
import { HumanRequestRepository } from '../human/human-request.repository.js'
import { JobLive } from '../job/job.live.js'
import { MailRepository } from '../mail/mail.repository.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { NodeTransitions } from '../node/node.transition.js'
import { nodeSucceeded } from '../node/node-end.message.js'
import { ReportRepository } from '../report/report.repository.js'
import { ReportService } from '../report/report.service.js'
import { RoadmapRepository } from '../roadmap/roadmap.repository.js'
import { LaunchQueue } from '../supervision/launch.queue.js'
import { ContextRepository } from './context.repository.js'
import { Kickoffs } from './kickoff.service.js'
import { SuccessionRepository } from './succession.repository.js'

/** The step in which a root gives its place to another one, in the transaction that has locked both and all below. */
@Injectable()
export class TakeOver {
  constructor(
    private readonly nodes: NodeRepository,
    private readonly successions: SuccessionRepository,
    private readonly contexts: ContextRepository,
    private readonly kickoffs: Kickoffs,
    private readonly mail: MailRepository,
    private readonly questions: HumanRequestRepository,
    private readonly reports: ReportRepository,
    private readonly reporting: ReportService,
    private readonly cancels: CancelService,
    private readonly transitions: NodeTransitions,
    private readonly roadmaps: RoadmapRepository,
    private readonly signals: SignalHub,
    private readonly launches: LaunchQueue,
    private readonly inProgress: InProgressStore,
    private readonly jobs: JobLive,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @param root the new one, with a process already (`cancelBelow`) or to be launched after commit */
  async perform(ctx: TxContext, { family }: Kin, root: NodeRecord, how: { cancelBelow?: true } = {}): Promise<void> {
    const old = family.node
    const gone = new Set([root.id])
    if (how.cancelBelow) for (const id of (await this.cancels.cancelBelow(ctx, old.id)).canceled) gone.add(id)
    // who ended just now hears nothing more, and who follows reads the last report in its kickoff
    const subscribers = family.subscribers.filter(({ node }) => !gone.has(node.id))
    await this.conclude(ctx, { ...family, subscribers }, root)
    await this.copyRoadmap(ctx, old.id, root.id)
    this.successions.moveSubscriptions(ctx.tx, old.id, root.id)
    await this.moveChildren(ctx, old, root)
    this.successions.moveUnreadMail(ctx.tx, old.id, root.id)
    this.questions.handOver(ctx.tx, old.id, root.id)
    for (const message of nodeSucceeded(old.id, root.id, new Date(this.clock.now()))) ctx.tx.deliver(message)
    this.begin(ctx, root, await this.taskOf(ctx, root))
    if (root.broker_state !== 'bound') return
    await this.kickoffs.write(ctx, root)
    ctx.tx.afterCommit(() => this.signals.send(root.id, { type: 'mail', urgent: false, critical: false }))
  }

  /** The old root's newest report is its last word. One that is dead already has said it. */
  private async conclude(ctx: TxContext, family: Kin['family'], root: NodeRecord): Promise<void> {
    const old = family.node
    if (old.status !== 'active' && old.status !== 'idle') return
    const newest = await this.reports.newest(ctx.tx, old.id, old.engagement)
    const body = newest?.body ?? `${old.name} ended without a report: ${root.id} goes on in its place.`
    this.reporting.record(ctx, family, { kind: 'final', body }, { replaced: true })
    if (ctx.actor.nodeId === old.id) return
    ctx.tx.afterCommit(() => {
      this.signals.send(old.id, { type: 'stop', reason: 'another root has taken its place' })
      this.launches.stop(old.id, old.generation)
    })
  }

  /** The plan goes on with the new root; its earlier versions stay with the old one. */
  private async copyRoadmap(ctx: TxContext, from: string, to: string): Promise<void> {
    const plan = await this.roadmaps.find(ctx.tx, from)
    if (plan) this.roadmaps.write(ctx.tx, { ...plan, node_id: to, version: 1 })
  }

  /** Children that were not canceled work for the new root, with all below them: it reaches them as the old one did. */
  private async moveChildren(ctx: TxContext, old: NodeRecord, root: NodeRecord): Promise<void> {
    const below = await this.nodes.lockAll(ctx.tx, await this.nodes.below(ctx.tx, old.id))
    const children = [...below.values()].filter((row) => row.parent_id === old.id && row.status !== 'canceled')
    const moved = new Set(children.map(({ id }) => id))
    for (let more = true; more; ) {
      const found = [...below.values()].filter((row) => !moved.has(row.id) && moved.has(row.parent_id ?? ''))
      for (const row of found) moved.add(row.id)
      more = found.length > 0
    }
    if (moved.size === 0) return
    for (const id of moved) {
      const row = below.get(id) as NodeRecord
      const parent_id = row.parent_id === old.id ? root.id : row.parent_id
      this.transitions.change(ctx, row, { parent_id, root_id: root.id })
      if (row.parent_id !== parent_id) ctx.tx.emit({ nodeId: id, type: 'node.updated', data: { parent_id } })
    }
    this.successions.moveToTree(ctx.tx, [...moved], root.id)
    ctx.tx.afterCommit(() => {
      this.jobs.forget(moved)
      for (const id of moved) this.inProgress.close(id)
    })
  }

  /** A program that finds nothing to do begins again with what the old one was given. */
  private async taskOf(ctx: TxContext, root: NodeRecord): Promise<string | undefined> {
    if (root.engine !== 'exec' || (await this.mail.waiting(ctx.tx, root.id)).waking > 0) return undefined
    return (await this.contexts.mandate(ctx.tx, root.id, 1))[0]?.body
  }

  private begin(ctx: TxContext, root: NodeRecord, task: string | undefined): void {
    const given = { nodeId: root.id, engagement: 1, at: new Date(this.clock.now()) }
    if (root.engine !== 'exec') this.contexts.oweKickoff(ctx.tx, { ...given, context: root.context })
    else if (task !== undefined) {
      this.mail.append(ctx.tx, {
        ...given,
        tier: 'normal',
        kind: 'prompt',
        body: task,
        source: { kind: 'system', id: null },
      })
    }
  }
}
