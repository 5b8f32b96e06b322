import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { ArgvService } from './argv.service.js'

@Injectable()
export class ArgvHandlers {
  constructor(@Inject(ArgvService) private readonly argv: ArgvService) {}

  @Handles(contract['host.argv.run'])
  run(ctx: Context, input: InputOf<(typeof contract)['host.argv.run']>) {
    return this.argv.run(ctx, input)
  }
}
