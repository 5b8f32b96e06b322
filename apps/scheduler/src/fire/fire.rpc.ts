import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { RunService } from './run.service.js'

const op = contract

/** Firings by hand, as the bus asks for them. */
@Injectable()
export class FireRpc {
  constructor(private readonly runs: RunService) {}

  @Handles(op['crons.run'])
  run(ctx: Context, input: InputOf<(typeof op)['crons.run']>): Promise<OutputOf<(typeof op)['crons.run']>> {
    return this.runs.run(ctx, input)
  }

  @Handles(op['crons.poke'])
  poke(): Promise<OutputOf<(typeof op)['crons.poke']>> {
    return this.runs.poke()
  }
}
