import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type LlmItem } from '#common/contract/index.js'
import { Handles, Streams } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { TurnService } from './turn.service.js'

const modelCall = contract['nodes.broker.modelCall']
const modelCallCancel = contract['nodes.broker.modelCallCancel']

@Injectable()
export class TurnRpc {
  constructor(@Inject(TurnService) private readonly turns: TurnService) {}

  @Streams(modelCall)
  call(ctx: Context, input: InputOf<typeof modelCall>): AsyncIterable<LlmItem> {
    return this.turns.call(ctx, input)
  }

  @Handles(modelCallCancel)
  async cancel(_ctx: Context, { id, turn, step }: InputOf<typeof modelCallCancel>): Promise<{ canceled: boolean }> {
    return { canceled: await this.turns.cancel({ nodeId: id, turn, step }) }
  }
}
