import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { ConfigService, type ModelConfig } from './config.service.js'

const retrieve = contract['models.config.retrieve']
const update = contract['models.config.update']

@Injectable()
export class ConfigRpc {
  constructor(@Inject(ConfigService) private readonly configs: ConfigService) {}

  @Handles(retrieve)
  retrieve(): Promise<ModelConfig> {
    return this.configs.retrieve()
  }

  @Handles(update)
  update(ctx: Context, { if_version, ...change }: InputOf<typeof update>): Promise<ModelConfig> {
    return this.configs.update(ctx, change as Parameters<ConfigService['update']>[1], if_version)
  }
}
