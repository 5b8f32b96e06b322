import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { GrantService } from './grant.service.js'

const op = contract

/** Grants, as the gateway tells them. */
@Injectable()
export class GrantRpc {
  constructor(private readonly grants: GrantService) {}

  @Handles(op['lifecycle.grant.changed'])
  changed(
    ctx: Context,
    input: InputOf<(typeof op)['lifecycle.grant.changed']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.grant.changed']>> {
    return this.grants.changed(ctx, input)
  }
}
