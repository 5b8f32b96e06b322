import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { RoleService } from './role.service.js'
import { UpdateService } from './update.service.js'

const op = contract

/** Changes of what a node is, as the bus asks for them. */
@Injectable()
export class CareRpc {
  constructor(
    private readonly updates: UpdateService,
    private readonly roles: RoleService,
  ) {}

  @Handles(op['nodes.update'])
  update(ctx: Context, input: InputOf<(typeof op)['nodes.update']>): Promise<OutputOf<(typeof op)['nodes.update']>> {
    return this.updates.update(ctx, input)
  }

  @Handles(op['nodes.promote'])
  async promote(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.promote']>,
  ): Promise<OutputOf<(typeof op)['nodes.promote']>> {
    return (await this.roles.promote(ctx, input)).value
  }

  @Handles(op['nodes.demote'])
  async demote(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.demote']>,
  ): Promise<OutputOf<(typeof op)['nodes.demote']>> {
    return (await this.roles.demote(ctx, input)).value
  }
}
