import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { RoadmapService } from './roadmap.service.js'

const op = contract

/** Roadmaps, as the bus asks for them. */
@Injectable()
export class RoadmapRpc {
  constructor(private readonly roadmaps: RoadmapService) {}

  @Handles(op['nodes.roadmap.retrieve'])
  retrieve(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.roadmap.retrieve']>,
  ): Promise<OutputOf<(typeof op)['nodes.roadmap.retrieve']>> {
    return this.roadmaps.retrieve(ctx, input)
  }

  @Handles(op['nodes.roadmap.write'])
  write(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.roadmap.write']>,
  ): Promise<OutputOf<(typeof op)['nodes.roadmap.write']>> {
    return this.roadmaps.write(ctx, input)
  }
}
