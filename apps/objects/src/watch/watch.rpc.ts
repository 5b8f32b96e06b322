import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { WatchService } from './watch.service.js'

const list = contract['canvas.watches.list']
const put = contract['canvas.watches.put']
const remove = contract['canvas.watches.delete']

/** Watches, as the bus asks for them. */
@Injectable()
export class WatchRpc {
  constructor(private readonly watches: WatchService) {}

  @Handles(list)
  list(ctx: Context, input: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    return this.watches.list(ctx, input)
  }

  @Handles(put)
  put(ctx: Context, input: InputOf<typeof put>): Promise<OutputOf<typeof put>> {
    return this.watches.put(ctx, input)
  }

  @Handles(remove)
  delete(ctx: Context, input: InputOf<typeof remove>): Promise<OutputOf<typeof remove>> {
    return this.watches.delete(ctx, input)
  }
}
