import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import type { Written } from '#common/kernel/database/writer.js'
import { ContextService } from './context.service.js'
import { ForkService } from './fork.service.js'
import { ReviveService } from './revive.service.js'
import { SuccessionService } from './succession.service.js'

const op = contract

/** Where contexts begin and go over, as the bus asks for it. */
@Injectable()
export class ContextRpc {
  constructor(
    private readonly contexts: ContextService,
    private readonly revivals: ReviveService,
    private readonly forks: ForkService,
    private readonly successions: SuccessionService,
  ) {}

  @Handles(op['nodes.yield'])
  async yield(ctx: Context, input: InputOf<(typeof op)['nodes.yield']>): Promise<OutputOf<(typeof op)['nodes.yield']>> {
    return answer(ctx, await this.contexts.yield(ctx, input))
  }

  @Handles(op['nodes.revive'])
  async revive(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.revive']>,
  ): Promise<OutputOf<(typeof op)['nodes.revive']>> {
    return answer(ctx, await this.revivals.revive(ctx, input))
  }

  @Handles(op['nodes.fork'])
  async fork(ctx: Context, input: InputOf<(typeof op)['nodes.fork']>): Promise<OutputOf<(typeof op)['nodes.fork']>> {
    return answer(ctx, await this.forks.fork(ctx, input))
  }

  @Handles(op['nodes.recycle'])
  async recycle(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.recycle']>,
  ): Promise<OutputOf<(typeof op)['nodes.recycle']>> {
    return answer(ctx, await this.successions.recycle(ctx, input))
  }

  @Handles(op['nodes.relaunchRoot'])
  async relaunch(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.relaunchRoot']>,
  ): Promise<OutputOf<(typeof op)['nodes.relaunchRoot']>> {
    return answer(ctx, await this.successions.relaunch(ctx, input))
  }
}

/** The value of a write; tells the caller when it is the kept answer of an earlier request. */
const answer = <T>(ctx: Context, { value, replayed }: Written<T>): T => {
  if (replayed && ctx.notes) ctx.notes.replayed = true
  return value
}
