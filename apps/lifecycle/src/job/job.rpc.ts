import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { JobLive } from './job.live.js'
import { JobService } from './job.service.js'
import { JobEndService } from './job-end.service.js'

const op = contract

/** Background jobs, as the bus asks for them and as hosts tell of them. */
@Injectable()
export class JobRpc {
  constructor(
    private readonly jobs: JobService,
    private readonly ends: JobEndService,
    private readonly live: JobLive,
  ) {}

  @Handles(op['nodes.jobs.list'])
  list(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.jobs.list']>,
  ): Promise<OutputOf<(typeof op)['nodes.jobs.list']>> {
    return this.jobs.list(ctx, input)
  }

  @Handles(op['nodes.jobs.start'])
  async start(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.jobs.start']>,
  ): Promise<OutputOf<(typeof op)['nodes.jobs.start']>> {
    return (await this.jobs.start(ctx, input)).value
  }

  @Handles(op['nodes.jobs.cancel'])
  async cancel(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.jobs.cancel']>,
  ): Promise<OutputOf<(typeof op)['nodes.jobs.cancel']>> {
    return (await this.jobs.cancel(ctx, input)).value
  }

  @Handles(op['nodes.jobs.output'])
  output(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.jobs.output']>,
  ): Promise<OutputOf<(typeof op)['nodes.jobs.output']>> {
    return this.jobs.output(ctx, input)
  }

  @Handles(op['lifecycle.host.jobEnded'])
  async ended(
    _ctx: Context,
    { host_id, end }: InputOf<(typeof op)['lifecycle.host.jobEnded']>,
  ): Promise<{ noted: boolean }> {
    await this.ends.ended(host_id, end)
    return { noted: true }
  }

  @Handles(op['lifecycle.host.jobOutput'])
  async heard(
    _ctx: Context,
    { chunks }: InputOf<(typeof op)['lifecycle.host.jobOutput']>,
  ): Promise<{ noted: boolean }> {
    await this.live.publish(chunks)
    return { noted: true }
  }
}
