import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { NodeEndService } from './node-end.service.js'
import { NodeSuccessionService } from './node-succession.service.js'

const op = contract

/** What lifecycle says of nodes that have ended, or given their place to others. */
@Injectable()
export class NodeEndRpc {
  constructor(
    private readonly ends: NodeEndService,
    private readonly successions: NodeSuccessionService,
  ) {}

  @Handles(op['scheduler.node.ended'])
  ended(
    ctx: Context,
    input: InputOf<(typeof op)['scheduler.node.ended']>,
  ): Promise<OutputOf<(typeof op)['scheduler.node.ended']>> {
    return this.ends.ended(ctx, input)
  }

  @Handles(op['scheduler.node.succeeded'])
  succeeded(
    ctx: Context,
    input: InputOf<(typeof op)['scheduler.node.succeeded']>,
  ): Promise<OutputOf<(typeof op)['scheduler.node.succeeded']>> {
    return this.successions.succeeded(ctx, input)
  }
}
