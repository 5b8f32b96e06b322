import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common'
import { type Clock, pause } from '#common/kernel/clock.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Claims } from './fire/claim.service.js'
import type { FireCarrier } from './fire/fire.carrier.js'
import type { FireEnds } from './fire/fire.end.service.js'
import type { Follower } from './fire/follower.js'
import type { Starter } from './fire/starter.js'
import type { Sweep } from './fire/sweep.js'
import type { Housekeeping } from './housekeeping.js'
import type { ConcernRelay } from './relay/concern.relay.js'
import type { Refill } from './timer/refill.js'
import type { Timers } from './timer/timers.js'

/** Ms that starts and commands under way have to end by themselves when the service stops. */
const drainWithin = 8000

/** Starts what runs by itself, and ends it in the order in which the parts need each other. */
export class SchedulerLifetime implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(
    private readonly database: Database,
    private readonly timers: Timers,
    private readonly refill: Refill,
    private readonly claims: Claims,
    private readonly starter: Starter,
    private readonly carrier: FireCarrier,
    private readonly ends: FireEnds,
    private readonly sweep: Sweep,
    private readonly follower: Follower,
    private readonly relay: ConcernRelay,
    private readonly housekeeping: Housekeeping,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.timers.onRing((cron, due) => this.claims.rung(cron, due))
    this.timers.onReady(() => void this.refill.look())
    this.starter.open((fire) => this.carrier.carry(fire))
    this.relay.start()
    this.follower.start()
    this.sweep.start()
    this.housekeeping.start()
  }

  /** Nothing more is claimed; what is under way has a while, and what then isn't through is held until its lease is over. */
  async beforeApplicationShutdown(): Promise<void> {
    this.housekeeping.stop()
    await Promise.all([this.sweep.stop(), this.follower.stop(), this.refill.stop()])
    await this.timers.close()
    await this.claims.close()
    await Promise.race([this.starter.drain(), pause(this.clock, drainWithin)])
    await this.carrier.close()
    await this.ends.close()
    await this.relay.stop()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.database.close()
  }
}
