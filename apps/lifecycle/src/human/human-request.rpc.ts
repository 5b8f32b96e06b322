import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { HumanRequestService } from './human-request.service.js'

const op = contract

/** Questions to a person, as the bus asks for them. */
@Injectable()
export class HumanRequestRpc {
  constructor(private readonly requests: HumanRequestService) {}

  @Handles(op['human.requests.create'])
  async create(
    ctx: Context,
    input: InputOf<(typeof op)['human.requests.create']>,
  ): Promise<OutputOf<(typeof op)['human.requests.create']>> {
    return (await this.requests.create(ctx, input)).value
  }

  @Handles(op['human.requests.retrieve'])
  retrieve(
    ctx: Context,
    input: InputOf<(typeof op)['human.requests.retrieve']>,
  ): Promise<OutputOf<(typeof op)['human.requests.retrieve']>> {
    return this.requests.retrieve(ctx, input)
  }

  @Handles(op['human.requests.list'])
  list(
    ctx: Context,
    input: InputOf<(typeof op)['human.requests.list']>,
  ): Promise<OutputOf<(typeof op)['human.requests.list']>> {
    return this.requests.list(ctx, input)
  }

  @Handles(op['human.requests.replace'])
  replace(
    ctx: Context,
    input: InputOf<(typeof op)['human.requests.replace']>,
  ): Promise<OutputOf<(typeof op)['human.requests.replace']>> {
    return this.requests.replace(ctx, input)
  }

  @Handles(op['human.requests.respond'])
  async respond(
    ctx: Context,
    input: InputOf<(typeof op)['human.requests.respond']>,
  ): Promise<OutputOf<(typeof op)['human.requests.respond']>> {
    return (await this.requests.respond(ctx, input)).value
  }

  @Handles(op['human.requests.dismiss'])
  async dismiss(
    ctx: Context,
    input: InputOf<(typeof op)['human.requests.dismiss']>,
  ): Promise<OutputOf<(typeof op)['human.requests.dismiss']>> {
    return (await this.requests.dismiss(ctx, input)).value
  }

  @Handles(op['human.requests.cancel'])
  async cancel(
    ctx: Context,
    input: InputOf<(typeof op)['human.requests.cancel']>,
  ): Promise<OutputOf<(typeof op)['human.requests.cancel']>> {
    return (await this.requests.cancel(ctx, input)).value
  }
}
