import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { SubscriptionService } from './subscription.service.js'

const op = contract

/** Subscriptions, as the bus asks for them. */
@Injectable()
export class SubscriptionRpc {
  constructor(private readonly subscriptions: SubscriptionService) {}

  @Handles(op['canvas.subscriptions.list'])
  list(
    ctx: Context,
    input: InputOf<(typeof op)['canvas.subscriptions.list']>,
  ): Promise<OutputOf<(typeof op)['canvas.subscriptions.list']>> {
    return this.subscriptions.list(ctx, input)
  }

  @Handles(op['canvas.subscriptions.put'])
  put(
    ctx: Context,
    input: InputOf<(typeof op)['canvas.subscriptions.put']>,
  ): Promise<OutputOf<(typeof op)['canvas.subscriptions.put']>> {
    return this.subscriptions.put(ctx, input)
  }

  @Handles(op['canvas.subscriptions.delete'])
  remove(
    ctx: Context,
    input: InputOf<(typeof op)['canvas.subscriptions.delete']>,
  ): Promise<OutputOf<(typeof op)['canvas.subscriptions.delete']>> {
    return this.subscriptions.remove(ctx, input)
  }
}
