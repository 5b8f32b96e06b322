import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { SettleService } from './settle.service.js'
import { WaitService } from './wait.service.js'

const op = contract

/** Waits of nodes and for nodes, as the bus asks for them. */
@Injectable()
export class WaitRpc {
  constructor(
    private readonly waits: WaitService,
    private readonly ends: SettleService,
  ) {}

  @Handles(op['nodes.wait'])
  wait(ctx: Context, input: InputOf<(typeof op)['nodes.wait']>): Promise<OutputOf<(typeof op)['nodes.wait']>> {
    return this.waits.wait(ctx, input)
  }

  @Handles(op['nodes.broker.settle'])
  settle(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.broker.settle']>,
  ): Promise<OutputOf<(typeof op)['nodes.broker.settle']>> {
    return this.ends.settle(ctx, input)
  }
}
