import { Inject, Injectable } from '@nestjs/common'
import type { HostedJob } from '#common/contract/job.internal.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { Database } from '#common/kernel/database/database.js'
import { hasCode } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { Ceilings } from '../grant/ceilings.js'
import { type Ceiling, excessOf } from '../grant/grant.ceiling.js'
import { HostRegistry } from '../supervision/host.registry.js'
import { JobCarrier } from './job.carrier.js'
import { JobRepository, type OwedJob } from './job.repository.js'
import { JobEndService } from './job-end.service.js'

/** What a host says of its jobs. */
export interface JobsHeard {
  readonly host_id: string
  readonly incarnation: string
  readonly jobs: readonly HostedJob[]
}

/** A new start of a host is given this long (ms) to tell of the jobs that the one before it left. */
const tellingTime = 3000

/** A job whose row is gone is known to its host by its id alone. */
const unknownNode = 'node_00000000000000000000000000'

/**
 * Level-triggered: at each word of a host compares the jobs that it should run with those that it has, and does what is
 * missing. Nothing is to be done while a host is silent: what it runs is unknown, not gone.
 */
@Injectable()
export class JobReconciler {
  private readonly looking = new Set<string>()

  constructor(
    private readonly database: Database,
    private readonly jobs: JobRepository,
    private readonly ends: JobEndService,
    private readonly carrier: JobCarrier,
    private readonly hosts: HostRegistry,
    private readonly ceilings: Ceilings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /** Looks at the jobs of a host in the background, one look at a time: the next word brings the next. */
  heard(word: JobsHeard): void {
    const { host_id: id } = word
    if (this.looking.has(id)) return
    this.looking.add(id)
    this.reconcile(word)
      .catch((err: unknown) => this.log.warn({ err, host_id: id }, 'jobs could not be looked at; trying again'))
      .finally(() => this.looking.delete(id))
  }

  private async reconcile(word: JobsHeard): Promise<void> {
    const owed = await this.jobs.owedBy(this.database, word.host_id)
    const known = new Map(word.jobs.map((job) => [job.job_id, job]))
    const ceilings = await this.ceilings.ofAll(this.database, owed)
    for (const job of owed) {
      const hosted = known.get(job.id)
      const excess = excessOf(hosted?.scopes ?? [], ceilings.get(job.id) as Ceiling)
      const wanted = excess.length === 0 && !job.cancel_requested_at && job.node_status !== 'canceled'
      await this.guarded(job, () => this.settle(job, word, { hosted, wanted }))
    }
    await this.endUnowed(word)
  }

  /** A job that was given up while its host was silent, or whose node is gone, runs for nobody. */
  private async endUnowed({ host_id, jobs }: JobsHeard): Promise<void> {
    const hosted = jobs.filter(({ running }) => running).map(({ job_id }) => job_id)
    if (!hosted.length) return
    const owed = await this.jobs.runningAmong(this.database, hosted)
    for (const id of hosted) {
      if (owed.has(id)) continue
      const row = await this.jobs.find(this.database, id)
      this.carrier.cancel({ id, host_id, node_id: row?.node_id ?? unknownNode })
    }
  }

  private async settle(
    job: OwedJob,
    word: JobsHeard,
    { hosted, wanted }: { hosted: HostedJob | undefined; wanted: boolean },
  ): Promise<void> {
    // its end is on the way and says more than can be said here
    if (hosted && !hosted.running) return
    if (job.host_incarnation !== word.incarnation) {
      if (this.hasTold(word)) await this.ends.lose(job, 'its host was restarted, and knows nothing of it')
    } else if (!wanted) this.carrier.cancel(job)
    else if (!hosted) this.carrier.start(job)
  }

  /** Whether this start of the host is the newest, and has had the time to tell what became of earlier jobs. */
  private hasTold({ host_id, incarnation }: JobsHeard): boolean {
    const host = this.hosts.find(host_id)
    return host?.incarnation === incarnation && this.clock.monotonic() - host.heardSince >= tellingTime
  }

  private async guarded(job: OwedJob, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (err) {
      if (hasCode(err, 'not_leader')) throw err
      this.log.error({ err, job_id: job.id, node_id: job.node_id }, 'a job could not be looked after; trying again')
    }
  }
}
