import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { AckService } from './ack.service.js'
import { HistoryService } from './history.service.js'

const op = contract

/** Deliveries and events of objects, as the bus asks for them. */
@Injectable()
export class DeliveryRpc {
  constructor(
    @Inject(AckService) private readonly acks: AckService,
    @Inject(HistoryService) private readonly history: HistoryService,
  ) {}

  @Handles(op['customObjects.ack'])
  acknowledge(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.ack']>,
  ): Promise<OutputOf<(typeof op)['customObjects.ack']>> {
    return this.acks.acknowledge(ctx, input)
  }

  @Handles(op['customObjects.deliveries.list'])
  deliveries(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.deliveries.list']>,
  ): Promise<OutputOf<(typeof op)['customObjects.deliveries.list']>> {
    return this.history.deliveries(ctx, input)
  }

  @Handles(op['customObjects.deliveries.replay'])
  replay(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.deliveries.replay']>,
  ): Promise<OutputOf<(typeof op)['customObjects.deliveries.replay']>> {
    return this.history.replay(ctx, input)
  }

  @Handles(op['customObjects.events.list'])
  events(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.events.list']>,
  ): Promise<OutputOf<(typeof op)['customObjects.events.list']>> {
    return this.history.published(ctx, input)
  }
}
