import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { NodeEndService } from './node-end.service.js'

const op = contract

/** What lifecycle says of nodes that have ended. */
@Injectable()
export class NodeEndRpc {
  constructor(private readonly ends: NodeEndService) {}

  @Handles(op['scheduler.node.ended'])
  ended(
    ctx: Context,
    input: InputOf<(typeof op)['scheduler.node.ended']>,
  ): Promise<OutputOf<(typeof op)['scheduler.node.ended']>> {
    return this.ends.ended(ctx, input)
  }
}
