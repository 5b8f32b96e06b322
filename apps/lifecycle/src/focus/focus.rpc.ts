import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { FocusService } from './focus.service.js'

const op = contract

/** Focuses, as the bus asks for them. */
@Injectable()
export class FocusRpc {
  constructor(private readonly focuses: FocusService) {}

  @Handles(op['focuses.list'])
  list(
    _ctx: Context,
    { node_id }: InputOf<(typeof op)['focuses.list']>,
  ): Promise<OutputOf<(typeof op)['focuses.list']>> {
    return this.focuses.list(node_id)
  }

  @Handles(op['focuses.set'])
  set(ctx: Context, input: InputOf<(typeof op)['focuses.set']>): Promise<OutputOf<(typeof op)['focuses.set']>> {
    return this.focuses.set(ctx, input)
  }

  @Handles(op['focuses.delete'])
  async remove(ctx: Context, { pane }: InputOf<(typeof op)['focuses.delete']>): Promise<undefined> {
    await this.focuses.remove(ctx, pane)
  }
}
