import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { ConcernService } from './concern.service.js'

const op = contract

/** What other services say needs a person. */
@Injectable()
export class ConcernRpc {
  constructor(private readonly concerns: ConcernService) {}

  @Handles(op['lifecycle.concern.set'])
  set(
    ctx: Context,
    input: InputOf<(typeof op)['lifecycle.concern.set']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.concern.set']>> {
    return this.concerns.set(ctx, input)
  }
}
