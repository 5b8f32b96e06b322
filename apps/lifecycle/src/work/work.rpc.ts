import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { WorkService } from './work.service.js'
import { WorkStates } from './work.states.js'

const op = contract

/** What the scheduler asks and begins on somebody's authority. */
@Injectable()
export class WorkRpc {
  constructor(
    private readonly works: WorkService,
    private readonly states: WorkStates,
  ) {}

  @Handles(op['lifecycle.work.check'])
  check(
    ctx: Context,
    input: InputOf<(typeof op)['lifecycle.work.check']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.work.check']>> {
    return this.works.check(ctx, input)
  }

  @Handles(op['lifecycle.work.start'])
  start(
    ctx: Context,
    input: InputOf<(typeof op)['lifecycle.work.start']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.work.start']>> {
    return this.works.start(ctx, input)
  }

  @Handles(op['lifecycle.work.states'])
  read(
    ctx: Context,
    input: InputOf<(typeof op)['lifecycle.work.states']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.work.states']>> {
    return this.states.read(ctx, input)
  }

  @Handles(op['lifecycle.work.actor'])
  actor(
    ctx: Context,
    input: InputOf<(typeof op)['lifecycle.work.actor']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.work.actor']>> {
    return this.works.actor(ctx, input)
  }
}
