import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { FaultService } from './fault.service.js'

const op = contract

/** Faults of nodes, as the bus asks for them. */
@Injectable()
export class FaultRpc {
  constructor(private readonly faults: FaultService) {}

  @Handles(op['nodes.faults.list'])
  list(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.faults.list']>,
  ): Promise<OutputOf<(typeof op)['nodes.faults.list']>> {
    return this.faults.list(ctx, input)
  }

  @Handles(op['nodes.faults.record'])
  async record(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.faults.record']>,
  ): Promise<OutputOf<(typeof op)['nodes.faults.record']>> {
    return (await this.faults.record(ctx, input)).value
  }

  @Handles(op['nodes.retry'])
  async retry(ctx: Context, input: InputOf<(typeof op)['nodes.retry']>): Promise<OutputOf<(typeof op)['nodes.retry']>> {
    return (await this.faults.retry(ctx, input)).value
  }
}
