import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { PublishService } from './publish.service.js'

const op = contract

/** Publications, as the bus asks for them. */
@Injectable()
export class PublishRpc {
  constructor(private readonly service: PublishService) {}

  @Handles(op['customObjects.publish'])
  publish(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.publish']>,
  ): Promise<OutputOf<(typeof op)['customObjects.publish']>> {
    return this.service.publish(ctx, input)
  }

  @Handles(op['customObjects.publishBatch'])
  publishBatch(
    ctx: Context,
    input: InputOf<(typeof op)['customObjects.publishBatch']>,
  ): Promise<OutputOf<(typeof op)['customObjects.publishBatch']>> {
    return this.service.publishBatch(ctx, input)
  }
}
