import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { NodeEnds } from './node-end.service.js'

const { 'objects.node.ended': ended, 'objects.node.succeeded': succeeded } = contract

/** What lifecycle says of nodes that have ended, or given their place to others. */
@Injectable()
export class NodeEndRpc {
  constructor(private readonly ends: NodeEnds) {}

  @Handles(ended)
  ended(ctx: Context, input: InputOf<typeof ended>): Promise<OutputOf<typeof ended>> {
    return this.ends.ended(ctx, input)
  }

  @Handles(succeeded)
  succeeded(ctx: Context, input: InputOf<typeof succeeded>): Promise<OutputOf<typeof succeeded>> {
    return this.ends.succeeded(ctx, input)
  }
}
