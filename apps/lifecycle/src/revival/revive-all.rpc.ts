import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { ReviveAllService } from './revive-all.service.js'

const op = contract

/** Bringing back many nodes at once, as the bus asks for it. */
@Injectable()
export class ReviveAllRpc {
  constructor(private readonly revivals: ReviveAllService) {}

  @Handles(op['nodes.reviveAll'])
  async reviveAll(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.reviveAll']>,
  ): Promise<OutputOf<(typeof op)['nodes.reviveAll']>> {
    return (await this.revivals.request(ctx, input)).value
  }
}
