import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { EventMail } from './event-mail.service.js'

const hand = contract['lifecycle.events.hand']

/** What nodes are told of what they watch. */
@Injectable()
export class EventMailRpc {
  constructor(private readonly mail: EventMail) {}

  @Handles(hand)
  hand(ctx: Context, input: InputOf<typeof hand>): Promise<OutputOf<typeof hand>> {
    return this.mail.hand(ctx, input)
  }
}
