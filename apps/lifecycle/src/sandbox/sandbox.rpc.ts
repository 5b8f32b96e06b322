import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { SandboxService } from './sandbox.service.js'

const op = contract

@Injectable()
export class SandboxRpc {
  constructor(private readonly sandbox: SandboxService) {}

  @Handles(op['sandbox.get'])
  get(): Promise<OutputOf<(typeof op)['sandbox.get']>> {
    return this.sandbox.read()
  }

  @Handles(op['sandbox.consent'])
  consent(
    ctx: Context,
    input: InputOf<(typeof op)['sandbox.consent']>,
  ): Promise<OutputOf<(typeof op)['sandbox.consent']>> {
    return this.sandbox.consent(ctx, input)
  }

  @Handles(op['sandbox.revoke'])
  revoke(ctx: Context): Promise<OutputOf<(typeof op)['sandbox.revoke']>> {
    return this.sandbox.revoke(ctx)
  }
}
