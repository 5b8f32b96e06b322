import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { ReceiverService } from './receiver.service.js'

@Injectable()
export class ReceiverRpc {
  constructor(@Inject(ReceiverService) private readonly receivers: ReceiverService) {}

  @Handles(contract['customObjects.pause'])
  pause(ctx: Context, input: InputOf<(typeof contract)['customObjects.pause']>) {
    return this.receivers.pause(ctx, input)
  }

  @Handles(contract['customObjects.resume'])
  resume(ctx: Context, input: InputOf<(typeof contract)['customObjects.resume']>) {
    return this.receivers.resume(ctx, input)
  }
}
