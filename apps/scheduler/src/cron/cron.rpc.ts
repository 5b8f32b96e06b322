import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { CreateCronService } from './create-cron.service.js'
import { CronService } from './cron.service.js'
import { CronTimes } from './cron.times.js'

const op = contract

/** Schedules, as the bus asks for them. */
@Injectable()
export class CronRpc {
  constructor(
    private readonly creation: CreateCronService,
    private readonly crons: CronService,
    private readonly times: CronTimes,
  ) {}

  @Handles(op['crons.create'])
  async create(
    ctx: Context,
    input: InputOf<(typeof op)['crons.create']>,
  ): Promise<OutputOf<(typeof op)['crons.create']>> {
    return (await this.creation.create(ctx, input)).value
  }

  @Handles(op['crons.retrieve'])
  retrieve(
    ctx: Context,
    input: InputOf<(typeof op)['crons.retrieve']>,
  ): Promise<OutputOf<(typeof op)['crons.retrieve']>> {
    return this.crons.retrieve(ctx, input)
  }

  @Handles(op['crons.list'])
  list(ctx: Context, input: InputOf<(typeof op)['crons.list']>): Promise<OutputOf<(typeof op)['crons.list']>> {
    return this.crons.list(ctx, input)
  }

  @Handles(op['crons.pause'])
  async pause(ctx: Context, input: InputOf<(typeof op)['crons.pause']>): Promise<OutputOf<(typeof op)['crons.pause']>> {
    return (await this.crons.pause(ctx, input)).value
  }

  @Handles(op['crons.resume'])
  async resume(
    ctx: Context,
    input: InputOf<(typeof op)['crons.resume']>,
  ): Promise<OutputOf<(typeof op)['crons.resume']>> {
    return (await this.crons.resume(ctx, input)).value
  }

  @Handles(op['crons.delete'])
  delete(ctx: Context, input: InputOf<(typeof op)['crons.delete']>): Promise<OutputOf<(typeof op)['crons.delete']>> {
    return this.crons.delete(ctx, input)
  }

  @Handles(op['crons.fires.list'])
  fires(
    ctx: Context,
    input: InputOf<(typeof op)['crons.fires.list']>,
  ): Promise<OutputOf<(typeof op)['crons.fires.list']>> {
    return this.crons.fires(ctx, input)
  }

  @Handles(op['crons.next'])
  next(ctx: Context, input: InputOf<(typeof op)['crons.next']>): Promise<OutputOf<(typeof op)['crons.next']>> {
    return this.times.next(ctx, input)
  }

  @Handles(op['crons.preview'])
  preview(
    _ctx: Context,
    input: InputOf<(typeof op)['crons.preview']>,
  ): Promise<OutputOf<(typeof op)['crons.preview']>> {
    return this.times.preview(input)
  }
}
