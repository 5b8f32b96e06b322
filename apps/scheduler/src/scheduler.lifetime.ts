import type { OnApplicationShutdown } from '@nestjs/common'
import type { Database } from '#common/kernel/database/database.js'

/** Starts what runs by itself, and ends it in the order in which the parts need each other. */
export class SchedulerLifetime implements OnApplicationShutdown {
  constructor(private readonly database: Database) {}

  async onApplicationShutdown(): Promise<void> {
    await this.database.close()
  }
}
