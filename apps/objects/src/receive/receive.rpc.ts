import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type ItemOf } from '#common/contract/index.js'
import { Streams } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { ReceiveService } from './receive.service.js'

const receive = contract['customObjects.receive']

/** Streams of queues, as the bus asks for them. */
@Injectable()
export class ReceiveRpc {
  constructor(@Inject(ReceiveService) private readonly receiving: ReceiveService) {}

  @Streams(receive)
  receive(ctx: Context, input: InputOf<typeof receive>): Promise<AsyncIterable<ItemOf<typeof receive>>> {
    return this.receiving.receive(ctx, input)
  }
}
