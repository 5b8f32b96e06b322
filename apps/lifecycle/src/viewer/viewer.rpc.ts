import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { AttachService } from './attach.service.js'

const op = contract

/** Viewers, as the bus speaks of them. */
@Injectable()
export class ViewerRpc {
  constructor(private readonly attachments: AttachService) {}

  @Handles(op['nodes.attach'])
  attach(ctx: Context, { id }: InputOf<(typeof op)['nodes.attach']>): Promise<OutputOf<(typeof op)['nodes.attach']>> {
    return this.attachments.attach(ctx, id)
  }

  @Handles(op['nodes.broker.viewer'])
  act(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.broker.viewer']>,
  ): Promise<OutputOf<(typeof op)['nodes.broker.viewer']>> {
    return this.attachments.act(ctx, input)
  }
}
