import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { BashService } from './bash.service.js'

@Injectable()
export class BashHandlers {
  constructor(@Inject(BashService) private readonly bash: BashService) {}

  @Handles(contract['bash.run'])
  run(ctx: Context, input: InputOf<(typeof contract)['bash.run']>) {
    return this.bash.run(ctx, input)
  }
}
