import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common'
import { type Clock, systemClock } from '#common/kernel/clock.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { BrokerService } from '../broker/broker.service.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { JobService } from '../job/job.service.js'
import { SANDBOX_GROUND, type SandboxGround } from './sandbox.ground.js'

/** Between two sweeps (ms). */
const daily = 86_400_000

/** Removes what nodes left on the disk that were not here for long, and takes their accounts back. */
@Injectable()
export class NodeSweeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #clock: Clock = systemClock
  #callOff: () => void = () => undefined
  #sweeping: Promise<void> = Promise.resolve()

  constructor(
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(SANDBOX_GROUND) private readonly ground: SandboxGround,
    @Inject(BrokerService) private readonly brokers: BrokerService,
    @Inject(JobService) private readonly jobs: JobService,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.#sweeping = this.#sweep().catch((err: unknown) =>
      this.log.warn({ err }, 'old files of nodes were not removed'),
    )
    this.#callOff = this.#clock.after(daily, () => this.onApplicationBootstrap())
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#callOff()
    await this.#sweeping
  }

  async #sweep(): Promise<void> {
    for (const nodeId of await this.ground.directories.forgotten(this.place.sandbox.keepMs)) {
      if (this.#isHere(nodeId)) continue
      // One that can't be removed must not keep all others.
      await this.#remove(nodeId).catch((err: unknown) =>
        this.log.warn({ err, node_id: nodeId }, 'the old files of a node were not removed'),
      )
    }
  }

  async #remove(nodeId: string): Promise<void> {
    const { directories, accounts } = this.ground
    await accounts?.release(nodeId)
    await directories.remove(nodeId)
    this.log.info({ node_id: nodeId }, 'the files of a node that was not here for long were removed')
  }

  #isHere(nodeId: string): boolean {
    return this.brokers.hosted().some(({ node_id }) => node_id === nodeId) || this.jobs.nodes().includes(nodeId)
  }
}
