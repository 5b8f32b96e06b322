import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common'
import type { Database } from '#common/kernel/database/database.js'

/** What runs by itself from the start of the service to its end. */
export interface Running {
  start(): void
  /** Takes nothing new, and resolves when what is under way has ended. */
  stop(): Promise<void>
}

/** Starts what runs by itself, and ends it in the opposite order. */
export class ObjectsLifetime implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(
    private readonly database: Database,
    private readonly parts: readonly Running[],
  ) {}

  onApplicationBootstrap(): void {
    for (const part of this.parts) part.start()
  }

  async beforeApplicationShutdown(): Promise<void> {
    for (const part of [...this.parts].reverse()) await part.stop()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.database.close()
  }
}
