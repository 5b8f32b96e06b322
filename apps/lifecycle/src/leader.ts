import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common'
import { BusServer } from '#common/kernel/bus/bus.server.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { Database } from '#common/kernel/database/database.js'
import { Lease } from '#common/kernel/database/lease.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { Launcher } from './supervision/launcher.js'
import { Supervisor } from './supervision/supervisor.service.js'

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
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.lease = new Lease({
      url: settings.DATABASE_URL as string,
      holder: settings.SVC_LEASE_HOLDER ?? `${process.pid}`,
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
    await Promise.race([led, new Promise<void>((resolve) => setTimeout(resolve, 4000).unref())])
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort()
    await this.supervisor.stop()
    this.launcher.suspend()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.turn
    await this.database.close()
    await this.lease.release()
  }

  private async lead(): Promise<void> {
    const epoch = await this.lease.acquire(this.stopping.signal)
    if (epoch === undefined) return
    await this.database.carryEpoch(epoch)
    await this.server.listen()
    this.launcher.resume()
    this.supervisor.start()
    this.log.info({ epoch }, 'leading')
  }

  private async stepDown(): Promise<void> {
    await this.server.pause('not_leader')
    await this.supervisor.stop()
    this.launcher.suspend()
    await this.database.close()
    if (!this.stopping.signal.aborted) void this.next(() => this.lead())
  }

  private next(act: () => Promise<void>): Promise<void> {
    this.turn = this.turn
      .then(act)
      .catch((err: unknown) => this.log.error({ err }, 'the lead could not be taken or laid down'))
    return this.turn
  }
}
