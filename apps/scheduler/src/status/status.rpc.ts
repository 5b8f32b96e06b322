import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { cronLimits } from '#common/contract/cron.schema.js'
import type { OutputOf } from '#common/contract/define.js'
import { contract } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import { version } from '#common/kernel/version.js'
import { RedisCheck } from './redis.check.js'

const status = contract['scheduler.status']

@Injectable()
export class StatusRpc implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(@Inject(RedisCheck) private readonly redis: RedisCheck) {}

  /** Looked at once, so that the log has what is wrong although nobody asks. */
  onApplicationBootstrap(): void {
    void this.redis.fault()
  }

  onApplicationShutdown(): void {
    this.redis.close()
  }

  @Handles(status)
  async read(): Promise<OutputOf<typeof status>> {
    const { perNode, perApp, cadence } = cronLimits
    return {
      version,
      fault: await this.redis.fault(),
      limits: { crons_of_node: perNode, crons_of_app: perApp, cron_cadence_s: cadence },
    }
  }
}
