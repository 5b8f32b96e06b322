import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { ProfileService } from './profile.service.js'

const op = contract

/** Profiles, as the bus asks for them. */
@Injectable()
export class ProfileRpc {
  constructor(private readonly profiles: ProfileService) {}

  @Handles(op['profiles.ensure'])
  ensure(
    ctx: Context,
    input: InputOf<(typeof op)['profiles.ensure']>,
  ): Promise<OutputOf<(typeof op)['profiles.ensure']>> {
    return this.profiles.ensure(ctx, input)
  }

  @Handles(op['profiles.retrieve'])
  retrieve(
    ctx: Context,
    { name }: InputOf<(typeof op)['profiles.retrieve']>,
  ): Promise<OutputOf<(typeof op)['profiles.retrieve']>> {
    return this.profiles.retrieve(ctx, name)
  }
}
