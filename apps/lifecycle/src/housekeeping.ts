import { Inject, Injectable } from '@nestjs/common'
import { jobLimits } from '#common/contract/job.schema.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { Inbox } from '#common/kernel/database/inbox.js'
import { Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { JobRepository } from './job/job.repository.js'
import { JobEndService } from './job/job-end.service.js'

const everyMs = 3_600_000
/** The first round waits (ms) until the start is over. */
const firstAfterMs = 60_000
/** How long (ms) a delivery is remembered: far longer than another service may go on sending it. */
const deliveriesKeptMs = 60 * 24 * 3_600_000

/** Clears the canvas of rows that nobody can ask for any more, while this process is the writer. */
@Injectable()
export class Housekeeping {
  private readonly inbox = new Inbox('canvas')
  private callOff: () => void = () => undefined

  constructor(
    private readonly writer: Writer,
    private readonly jobs: JobRepository,
    private readonly ends: JobEndService,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  start(): void {
    this.later(firstAfterMs)
  }

  stop(): void {
    this.callOff()
  }

  /** Answers how many rows went. */
  async round(): Promise<number> {
    const ago = (ms: number): Date => new Date(this.clock.now() - ms)
    await this.ends.giveUp()
    return this.writer.transact(systemContext('lifecycle'), async (within) => {
      const [keys, deliveries, jobs] = await Promise.all([
        this.writer.forgetExpiredKeys(within),
        this.inbox.prune(within.tx, ago(deliveriesKeptMs)),
        this.jobs.prune(within.tx, ago(jobLimits.keptMs)),
      ])
      return keys + deliveries + jobs
    })
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
