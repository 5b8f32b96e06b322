import { Inject, Injectable } from '@nestjs/common'
import { contract } from '#common/contract/index.js'
import type { JobEnd } from '#common/contract/job.internal.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { backoff, type Clock, pause, systemClock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { JobService } from './job.service.js'

/** Longest wait for one answer of lifecycle, and between two rounds (ms). */
const patience = 5000
const longestWait = 2000

/** Tells lifecycle each end of a job until it was taken, for ever, whoever restarts meanwhile. */
@Injectable()
export class JobTeller {
  readonly #ended = new AbortController()
  readonly #clock: Clock = systemClock
  #telling: Promise<void> | undefined

  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(JobService) private readonly jobs: JobService,
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  start(): void {
    this.jobs.onEnd = () => this.#tellSoon()
    this.#tellSoon()
  }

  /** The last ends get one more try; the next start of the host tells the rest. */
  async stop(): Promise<void> {
    this.#ended.abort()
    await this.#telling
    await Promise.all(this.jobs.untold().map((end) => this.#tell(end, 1000)))
  }

  #tellSoon(): void {
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = undefined
      if (this.jobs.untold().length && !this.#ended.signal.aborted) this.#tellSoon()
    })
  }

  /** One that is refused keeps no other from being told. */
  async #tellAll(): Promise<void> {
    const { signal } = this.#ended
    for (let failures = 0; this.jobs.untold().length && !signal.aborted; ) {
      let told = true
      for (const end of this.jobs.untold()) {
        if (signal.aborted) return
        told = (await this.#tell(end, patience)) && told
      }
      failures = told ? 0 : failures + 1
      if (failures) await pause(this.#clock, 50 + backoff(failures, 50, longestWait), signal)
    }
  }

  async #tell(end: JobEnd, timeout: number): Promise<boolean> {
    try {
      const input = { host_id: this.place.hostId, end }
      await this.bus.call(contract['lifecycle.host.jobEnded'], systemContext('host'), input, { timeout })
      this.jobs.told(end.job_id)
      return true
    } catch (error) {
      this.log.debug(
        { reason: (error as Error).message, job_id: end.job_id },
        'lifecycle did not take the end of a job',
      )
      return false
    }
  }
}
