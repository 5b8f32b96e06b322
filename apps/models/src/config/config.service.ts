import type { z } from 'zod'
import type { modelConfig } from '#common/contract/index.js'
import { type Clock, isoTime } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import type { ProviderRegistry } from '../provider/provider.registry.js'
import { noticeChange } from '../session/notice.repository.js'
import type { ConfigRepository } from './config.repository.js'
import { type ConfigChange, changeConfig, type VersionedConfig } from './config.rules.js'

export type ModelConfig = z.infer<typeof modelConfig>

const toModelConfig = ({ document, version, updatedAt }: VersionedConfig): ModelConfig => ({
  ...document,
  version,
  updated_at: isoTime(updatedAt),
})

export class ConfigService {
  constructor(
    private readonly database: Database,
    private readonly writer: Writer,
    private readonly configs: ConfigRepository,
    private readonly registry: ProviderRegistry,
    private readonly clock: Clock,
  ) {}

  async retrieve(): Promise<ModelConfig> {
    return toModelConfig(await this.configs.read(this.database))
  }

  /** @throws SvcError precondition_failed at another version, validation_failed for what doesn't fit together. */
  async update(ctx: Context, change: ConfigChange, ifVersion: number | undefined): Promise<ModelConfig> {
    const after = await this.writer.transact(ctx, async ({ tx }) => {
      const before = await this.configs.lock(tx)
      if (ifVersion !== undefined && ifVersion !== before.version) {
        throw new SvcError('precondition_failed', undefined, { version: before.version })
      }
      const document = changeConfig(before.document, change)
      const changed = { version: before.version + 1, document, updatedAt: this.clock.now() }
      this.configs.write(tx, changed)
      noticeChange(tx)
      return changed
    })
    this.registry.forget()
    return toModelConfig(after)
  }
}
