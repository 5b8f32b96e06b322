import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { JobService } from './job.service.js'

/** What lifecycle asks of this host about jobs. */
@Injectable()
export class JobHandlers {
  constructor(@Inject(JobService) private readonly jobs: JobService) {}

  @Handles(contract['host.job.start'])
  async start(_ctx: Context, input: InputOf<(typeof contract)['host.job.start']>) {
    return this.jobs.start(input)
  }

  @Handles(contract['host.job.cancel'])
  async cancel(_ctx: Context, { job_id, node_id }: InputOf<(typeof contract)['host.job.cancel']>) {
    return this.jobs.cancel(job_id, node_id)
  }

  @Handles(contract['host.job.output'])
  output(_ctx: Context, { job_id, offset, limit }: InputOf<(typeof contract)['host.job.output']>) {
    return this.jobs.output(job_id, offset, limit)
  }
}
