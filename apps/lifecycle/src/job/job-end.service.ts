import { Inject, Injectable } from '@nestjs/common'
import type { JobEnd } from '#common/contract/job.internal.js'
import { nodeLimits } from '#common/contract/node.schema.js'
import { CLOCK, type Clock, isoTime } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { MailRepository } from '../mail/mail.repository.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { HostRegistry } from '../supervision/host.registry.js'
import { type JobMachineEvent, jobMachine } from './job.machine.js'
import type { JobRecord } from './job.record.js'
import { JobRepository } from './job.repository.js'
import { briefCommand, endNotice } from './job.text.js'

const eventOf: Record<JobEnd['status'], JobMachineEvent> = { exited: 'exit', killed: 'kill', lost: 'lose' }

/** How long (ms) a host may be silent before a job that is to end there is given up. */
const givenUpAfterMs = 3_600_000

/** The end of a job: the row, its event and the word to its node are one transaction. An end is taken once. */
@Injectable()
export class JobEndService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly hosts: HostRegistry,
    private readonly nodes: NodeRepository,
    private readonly jobs: JobRepository,
    private readonly mail: MailRepository,
    private readonly engagements: Engagements,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** As its host says it. Of a job or node that is unknown there is nothing to note. */
  async ended(hostId: string, end: JobEnd): Promise<void> {
    await this.settle(end, (job) => job.host_id === hostId)
  }

  /** Nobody can tell any more how it ended. */
  async lose(job: JobRecord, why: string): Promise<void> {
    await this.settle(this.unseen(job, 'lost', why), (now) => now.host_incarnation === job.host_incarnation)
  }

  /** It was never run, and never will be. */
  async refuse(job: JobRecord, why: string): Promise<void> {
    await this.settle(this.unseen(job, 'exited', why), (now) => now.host_incarnation === job.host_incarnation)
  }

  private unseen(job: JobRecord, status: JobEnd['status'], why: string): JobEnd {
    return {
      job_id: job.id,
      node_id: job.node_id,
      status,
      exit_code: null,
      signal: null,
      ended_at: isoTime(this.clock.now()),
      output_bytes: 0,
      truncated: false,
      error: why.slice(0, 4000),
      tail: '',
    }
  }

  /**
   * Gives up the jobs that were to end long ago on a host that was not heard since: else a host that never comes back
   * keeps their node's tree and its share of jobs for ever. One that does come back is told to end them.
   */
  async giveUp(afterMs = givenUpAfterMs): Promise<number> {
    const asked = await this.jobs.unanswered(this.database, new Date(this.clock.now() - afterMs))
    const silent = asked.filter(({ host_id }) => this.hosts.silenceOf(host_id) >= afterMs)
    for (const job of silent) await this.lose(job, 'it was canceled, and its host was not heard since')
    return silent.length
  }

  private async settle(end: JobEnd, applies: (job: JobRecord) => boolean): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const [node] = (await this.nodes.lockAll(ctx.tx, [end.node_id])).values()
      const job = node && (await this.jobs.find(ctx.tx, end.job_id))
      if (!job || job.node_id !== node.id || job.status !== 'running' || !applies(job)) return
      const { status } = jobMachine.apply(job, eventOf[end.status])
      this.jobs.end(ctx.tx, job.id, { ...end, status, ended_at: new Date(end.ended_at) })
      ctx.tx.emit({
        nodeId: node.id,
        type: 'job.ended',
        data: {
          job_id: job.id,
          command: briefCommand(job.command),
          status,
          exit_code: end.exit_code,
          signal: end.signal,
          output_bytes: end.output_bytes,
          error: end.error,
        },
      })
      await this.tell(ctx, node, job, end)
    })
  }

  /**
   * A node that has ended is never woken by a job of its, and what it canceled itself is no news to it. A program can't
   * be woken without being run again, which the end of a job doesn't ask for: it finds the notice beside its next mail.
   */
  private async tell(ctx: TxContext, node: NodeRecord, job: JobRecord, end: JobEnd): Promise<void> {
    if (node.status !== 'active' && node.status !== 'idle') return
    if (job.canceled_by === `node:${node.id}`) return
    if ((await this.mail.waiting(ctx.tx, node.id)).unread >= nodeLimits.unreadMail) return
    this.engagements.hand(ctx, node, {
      tier: node.engine === 'exec' ? 'deferred' : 'normal',
      kind: 'notice',
      body: endNotice(job, end),
      source: { kind: 'system', id: null },
      reopens: false,
    })
  }
}
