import { Inject, Injectable } from '@nestjs/common'
import { prunableStatuses } from '#common/contract/canvas.schema.js'
import { jobLimits } from '#common/contract/job.schema.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { Inbox } from '#common/kernel/database/inbox.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { AttachmentRepository } from './attachment/attachment.repository.js'
import { PruneService } from './canvas/prune.service.js'
import { ConcernRepository } from './concern/concern.repository.js'
import { HumanRequestRepository } from './human/human-request.repository.js'
import { JobRepository } from './job/job.repository.js'
import { JobEndService } from './job/job-end.service.js'
import { dayMs, deliveryDays, workDays } from './retention/retention.policy.js'
import { RetentionRepository } from './retention/retention.repository.js'
import { WorkStates } from './work/work.states.js'

const everyMs = 3_600_000
/** The first round waits (ms) until the start is over. */
const firstAfterMs = 60_000
/** How long (ms) a content may be without a node: what is being sent is not attached yet. */
const unusedMs = 3_600_000
/** Rows of one transaction. */
const batch = 500
/** Contents of one transaction: up to 4 MiB each. */
const contents = 50

/** Clears the canvas of what is kept no longer, in small steps, while this process is the writer. */
@Injectable()
export class Housekeeping {
  private readonly inbox = new Inbox('canvas')
  private callOff: () => void = () => undefined
  private over = new AbortController()

  constructor(
    private readonly writer: Writer,
    private readonly jobs: JobRepository,
    private readonly ends: JobEndService,
    private readonly pruning: PruneService,
    private readonly attachments: AttachmentRepository,
    private readonly requests: HumanRequestRepository,
    private readonly works: WorkStates,
    private readonly concerns: ConcernRepository,
    private readonly retention: RetentionRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  start(): void {
    this.over = new AbortController()
    this.later(firstAfterMs)
  }

  stop(): void {
    this.over.abort()
    this.callOff()
  }

  /** Answers how many rows went. */
  async round(): Promise<number> {
    await this.ends.giveUp()
    const { SVC_KEEP_QUESTIONS_DAYS, SVC_KEEP_NODES_DAYS } = this.settings
    const kept = [
      await this.clear('keys', (within) => this.writer.forgetExpiredKeys(within)),
      await this.clear('deliveries', ({ tx }) => this.inbox.prune(tx, this.ago(deliveryDays * dayMs))),
      await this.clear('jobs', ({ tx }) => this.jobs.prune(tx, this.ago(jobLimits.keptMs))),
      await this.steps('questions', SVC_KEEP_QUESTIONS_DAYS > 0 ? batch : 0, ({ tx }) =>
        this.requests.prune(tx, this.ago(SVC_KEEP_QUESTIONS_DAYS * dayMs), batch),
      ),
      await this.settledWorks(),
      await this.clear('concerns', ({ tx }) => this.concerns.prune(tx, this.ago(deliveryDays * dayMs))),
      await this.nodes(SVC_KEEP_NODES_DAYS),
      // after the nodes, whose contents may be nobody's now
      await this.steps('attachments', contents, async ({ tx }) => {
        const { blobs } = await this.attachments.prune(tx, this.ago(unusedMs), contents)
        return blobs
      }),
    ]
    return kept.reduce((sum, removed) => sum + removed, 0)
  }

  private async nodes(days: number): Promise<number> {
    if (days === 0) return 0
    const input = { older_than: days * 86_400, dry_run: false, statuses: [...prunableStatuses] }
    const { nodes } = await this.pruning.prune(this.context(), input)
    return this.clear('nodes', async () => nodes)
  }

  private async settledWorks(): Promise<number> {
    const forgotten = await this.works.forget(this.context(), this.ago(workDays * dayMs))
    return this.clear('works', async () => forgotten)
  }

  /** One transaction, and what came of it. */
  private clear(name: string, work: (within: TxContext) => Promise<number>): Promise<number> {
    return this.writer.transact(this.context(), async (within) => {
      const removed = await work(within)
      this.retention.note(within.tx, name, removed, new Date(this.clock.now()))
      return removed
    })
  }

  /** As many transactions of at most `size` rows as it takes; none when `size` is 0. */
  private async steps(name: string, size: number, work: (within: TxContext) => Promise<number>): Promise<number> {
    if (size === 0) return 0
    let removed = 0
    for (let last = size; last === size && !this.over.signal.aborted; ) {
      last = await this.writer.transact(this.context(), work)
      removed += last
    }
    return this.clear(name, async () => removed)
  }

  private context(): Context {
    return systemContext('lifecycle', this.over.signal)
  }

  private ago(ms: number): Date {
    return new Date(this.clock.now() - ms)
  }

  private later(ms: number): void {
    this.callOff()
    this.callOff = this.clock.after(ms, () => {
      this.later(everyMs)
      this.round().then(
        (rows) => this.log.debug({ rows }, 'old rows were cleared'),
        (err: unknown) => this.log.warn({ err }, 'old rows could not be cleared; trying again later'),
      )
    })
  }
}
