import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import type { Written } from '#common/kernel/database/writer.js'
import { CancelService } from '../cancel/cancel.service.js'
import { EventService } from '../events/event.service.js'
import { ReportService } from '../report/report.service.js'
import { CreateNodeService } from './create-node.service.js'
import { NodeService } from './node.service.js'
import { OutcomeService } from './outcome.service.js'

const op = contract

/** Nodes, as the bus asks for them. */
@Injectable()
export class NodeRpc {
  constructor(
    private readonly creation: CreateNodeService,
    private readonly nodes: NodeService,
    private readonly cancels: CancelService,
    private readonly outcomes: OutcomeService,
    private readonly reports: ReportService,
    private readonly events: EventService,
  ) {}

  @Handles(op['nodes.create'])
  async create(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.create']>,
  ): Promise<OutputOf<(typeof op)['nodes.create']>> {
    return answer(ctx, await this.creation.create(ctx, input))
  }

  @Handles(op['nodes.retrieve'])
  retrieve(
    ctx: Context,
    { id }: InputOf<(typeof op)['nodes.retrieve']>,
  ): Promise<OutputOf<(typeof op)['nodes.retrieve']>> {
    return this.nodes.retrieve(ctx, id)
  }

  @Handles(op['nodes.list'])
  list(ctx: Context, input: InputOf<(typeof op)['nodes.list']>): Promise<OutputOf<(typeof op)['nodes.list']>> {
    return this.nodes.list(ctx, input)
  }

  @Handles(op['nodes.message'])
  async message(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.message']>,
  ): Promise<OutputOf<(typeof op)['nodes.message']>> {
    return answer(ctx, await this.nodes.message(ctx, input))
  }

  @Handles(op['nodes.interrupt'])
  async interrupt(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.interrupt']>,
  ): Promise<OutputOf<(typeof op)['nodes.interrupt']>> {
    return answer(ctx, await this.nodes.interrupt(ctx, input))
  }

  @Handles(op['nodes.cancel'])
  async cancel(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.cancel']>,
  ): Promise<OutputOf<(typeof op)['nodes.cancel']>> {
    return answer(ctx, await this.cancels.request(ctx, input))
  }

  @Handles(op['nodes.outcome'])
  outcome(ctx: Context, input: InputOf<(typeof op)['nodes.outcome']>): Promise<OutputOf<(typeof op)['nodes.outcome']>> {
    return this.outcomes.read(ctx, input)
  }

  @Handles(op['nodes.result.submit'])
  async submit(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.result.submit']>,
  ): Promise<OutputOf<(typeof op)['nodes.result.submit']>> {
    return answer(ctx, await this.reports.submit(ctx, input))
  }

  @Handles(op['nodes.reports.push'])
  async push(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.reports.push']>,
  ): Promise<OutputOf<(typeof op)['nodes.reports.push']>> {
    return answer(ctx, await this.reports.push(ctx, input))
  }

  @Handles(op['nodes.reports.list'])
  reportsOf(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.reports.list']>,
  ): Promise<OutputOf<(typeof op)['nodes.reports.list']>> {
    return this.reports.list(ctx, input)
  }

  @Handles(op['lifecycle.node.readEvents'])
  readEvents(
    ctx: Context,
    input: InputOf<(typeof op)['lifecycle.node.readEvents']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.node.readEvents']>> {
    return this.events.read(ctx, input)
  }
}

/** The value of a write; tells the caller when it is the kept answer of an earlier request. */
const answer = <T>(ctx: Context, { value, replayed }: Written<T>): T => {
  if (replayed && ctx.notes) ctx.notes.replayed = true
  return value
}
