import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common'
import { BusServer } from '#common/kernel/bus/bus.server.js'
import { systemClock } from '#common/kernel/clock.js'
import type { Logger } from '#common/kernel/log.js'
import { acquireDataLock, type DataLock } from '#common/kernel/servers/data-lock.js'
import { LOG } from '#common/kernel/service.js'
import { BrokerService } from './broker/broker.service.js'
import { HeartbeatService } from './heartbeat/heartbeat.service.js'
import { NodeCountFile } from './heartbeat/node-count.file.js'
import { HOST_PLACE, type HostPlace } from './host.place.js'
import { JobService } from './job/job.service.js'
import { JobTeller } from './job/job.teller.js'
import { leftoversOf, reapLeftovers } from './process/leftover.reaper.js'

/**
 * What happens when: at boot the leftovers of an earlier start die before anything is launched or said; at the end every
 * broker's tree and every job dies, lifecycle is told, and only then the bus is left.
 */
@Injectable()
export class HostLifetime implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  #lock: DataLock | undefined

  constructor(
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(BrokerService) private readonly brokers: BrokerService,
    @Inject(HeartbeatService) private readonly heartbeat: HeartbeatService,
    @Inject(JobService) private readonly jobs: JobService,
    @Inject(JobTeller) private readonly teller: JobTeller,
    @Inject(BusServer) private readonly server: BusServer,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  async onModuleInit(): Promise<void> {
    // Two hosts of one data directory would each end the other's brokers.
    this.#lock = acquireDataLock(this.place.data)
    const { hostId, incarnation, dataMark } = this.place
    const reaped = await reapLeftovers(leftoversOf(hostId, incarnation, dataMark))
    if (reaped) this.log.warn({ processes: reaped }, 'ended what an earlier start of this host left')
    await this.jobs.recover()
    const count = new NodeCountFile(this.place.nodeCountFile, systemClock, (error) =>
      this.log.warn({ err: error }, 'the number of hosted nodes could not be noted'),
    )
    // A job is lost with this process as a node's broker is, though its node may rest.
    const note = (): void => count.note(this.brokers.live + this.jobs.live)
    this.brokers.onCount = note
    this.jobs.onCount = note
    await count.write()
    this.brokers.warmUp()
  }

  /** Whoever hears the first hello may give the first command. */
  async onApplicationBootstrap(): Promise<void> {
    await this.server.listen()
    this.heartbeat.start()
    this.teller.start()
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.brokers.close(), this.jobs.close()])
    await Promise.all([this.heartbeat.stop(), this.teller.stop()])
    this.#lock?.release()
  }
}
