import type {
  BeforeApplicationShutdown,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  OnModuleInit,
} from '@nestjs/common'
import type { Database } from '#common/kernel/database/database.js'
import type { SchemaThread } from '#common/kernel/schema/schema.thread.js'
import type { ProviderRegistry } from './provider/provider.registry.js'
import { channels, type DatabaseSession } from './session/database-session.repository.js'
import type { AnswerSweep } from './turn/answer.sweep.js'
import type { TurnService } from './turn/turn.service.js'
import type { TurnSweep } from './turn/turn.sweep.js'
import type { UsageRelay } from './usage/usage.relay.js'

/** Ms that running calls have to end by themselves when the service stops. */
const DRAIN_WITHIN = 8000

/** Starts what runs by itself, and ends it in the order in which the parts need each other. */
export class ModelsLifetime
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  constructor(
    private readonly database: Database,
    private readonly session: DatabaseSession,
    private readonly registry: ProviderRegistry,
    private readonly turns: TurnService,
    private readonly relay: UsageRelay,
    private readonly sweep: TurnSweep,
    private readonly answers: AnswerSweep,
    private readonly schemas: SchemaThread,
  ) {}

  onModuleInit(): void {
    this.session.on(channels.changed, () => this.registry.forget())
    this.session.onBack(() => this.registry.forget())
    this.session.start()
  }

  onApplicationBootstrap(): void {
    this.relay.start()
    this.sweep.start()
    this.answers.start()
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.sweep.stop()
    this.answers.stop()
    await this.turns.drain(DRAIN_WITHIN)
    await this.relay.stop()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.schemas.close()
    await this.session.close()
    await this.database.close()
  }
}
