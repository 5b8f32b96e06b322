import { hostname } from 'node:os'
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common'
import { BusServer } from '#common/kernel/bus/bus.server.js'
import { CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { Database } from '#common/kernel/database/database.js'
import { Lease } from '#common/kernel/database/lease.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { InProgressStore } from './broker/in-progress.store.js'
import { HistoryIndexer } from './history/history.indexer.js'
import { Housekeeping } from './housekeeping.js'
import { NodeEndRelay } from './node/node-end.relay.js'
import { Waiters } from './node/waiters.js'
import { Launcher } from './supervision/launcher.js'
import { Supervisor } from './supervision/supervisor.service.js'

/** How long (ms) the boot waits for a lease that another holds, and before a lead that failed is tried again. */
const bootPatience = 4000
const retryAfter = 1000

/**
 * The one writer at a time. Holds the lease, and only while it does takes commands and supervises; the database itself
 * refuses the writes of one that was replaced.
 */
@Injectable()
export class Leader implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly lease: Lease
  private readonly stopping = new AbortController()
  private turn: Promise<void> = Promise.resolve()

  constructor(
    @Inject(SETTINGS) settings: Settings,
    private readonly database: Database,
    private readonly server: BusServer,
    private readonly launcher: Launcher,
    private readonly supervisor: Supervisor,
    private readonly housekeeping: Housekeeping,
    private readonly indexer: HistoryIndexer,
    private readonly ends: NodeEndRelay,
    private readonly waiters: Waiters,
    private readonly inProgress: InProgressStore,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.lease = new Lease({
      url: settings.DATABASE_URL as string,
      // the pid alone is the same in every container
      holder: settings.SVC_LEASE_HOLDER ?? `${hostname()}/${process.pid}`,
      clock,
      log,
      onLost: () => this.next(() => this.stepDown()),
    })
  }

  get epoch(): number | undefined {
    return this.lease.epoch
  }

  /** Resolves once this process leads, when nobody else does; else stands by without holding up the boot. */
  async onApplicationBootstrap(): Promise<void> {
    const led = this.next(() => this.lead())
    await Promise.race([led, pause(this.clock, bootPatience)])
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort()
    await this.layDown()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.turn
    await this.database.close()
    await this.lease.release()
  }

  private async lead(): Promise<void> {
    const epoch = await this.lease.acquire(this.stopping.signal)
    if (epoch === undefined) return
    try {
      await this.database.carryEpoch(epoch)
      this.waiters.open()
      await this.server.listen()
    } catch (error) {
      await this.giveBack()
      throw error
    }
    this.launcher.resume()
    this.supervisor.start()
    this.housekeeping.start()
    this.indexer.start()
    this.ends.start()
    this.log.info({ epoch }, 'leading')
  }

  /** The lease was taken but can't be used: it must not be kept from somebody who can. */
  private async giveBack(): Promise<void> {
    await this.database.close()
    await this.lease.release()
    await pause(this.clock, retryAfter, this.stopping.signal)
    this.leadAgain()
  }

  private async stepDown(): Promise<void> {
    await this.server.pause('not_leader')
    await this.layDown()
    this.inProgress.forget()
    await this.database.close()
    this.leadAgain()
  }

  /** What this process does by itself as the writer ends; its callers are answered. */
  private async layDown(): Promise<void> {
    this.waiters.close()
    this.housekeeping.stop()
    await Promise.all([this.supervisor.stop(), this.indexer.stop(), this.ends.stop()])
    this.launcher.suspend()
  }

  private leadAgain(): void {
    if (!this.stopping.signal.aborted) void this.next(() => this.lead())
  }

  private next(act: () => Promise<void>): Promise<void> {
    this.turn = this.turn
      .then(act)
      .catch((err: unknown) => this.log.error({ err }, 'the lead could not be taken or laid down'))
    return this.turn
  }
}
