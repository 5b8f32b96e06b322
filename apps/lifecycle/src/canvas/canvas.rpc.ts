import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { AttentionService } from './attention.service.js'
import { CanvasService } from './canvas.service.js'
import { CanvasEventService } from './canvas-event.service.js'
import { PruneService } from './prune.service.js'

const op = contract

/** The canvas as a whole, as the bus asks for it. */
@Injectable()
export class CanvasRpc {
  constructor(
    private readonly canvas: CanvasService,
    private readonly attention: AttentionService,
    private readonly pruning: PruneService,
    private readonly events: CanvasEventService,
  ) {}

  @Handles(op['canvas.roster'])
  roster(ctx: Context, input: InputOf<(typeof op)['canvas.roster']>): Promise<OutputOf<(typeof op)['canvas.roster']>> {
    return this.canvas.roster(ctx, input)
  }

  @Handles(op['canvas.snapshot'])
  snapshot(
    ctx: Context,
    input: InputOf<(typeof op)['canvas.snapshot']>,
  ): Promise<OutputOf<(typeof op)['canvas.snapshot']>> {
    return this.canvas.snapshot(ctx, input)
  }

  @Handles(op['canvas.attention'])
  list(
    ctx: Context,
    input: InputOf<(typeof op)['canvas.attention']>,
  ): Promise<OutputOf<(typeof op)['canvas.attention']>> {
    return this.attention.list(ctx, input)
  }

  @Handles(op['canvas.attentionCounts'])
  counts(
    ctx: Context,
    input: InputOf<(typeof op)['canvas.attentionCounts']>,
  ): Promise<OutputOf<(typeof op)['canvas.attentionCounts']>> {
    return this.attention.counts(ctx, input)
  }

  @Handles(op['canvas.prune'])
  prune(ctx: Context, input: InputOf<(typeof op)['canvas.prune']>): Promise<OutputOf<(typeof op)['canvas.prune']>> {
    return this.pruning.prune(ctx, input)
  }

  @Handles(op['lifecycle.canvas.readEvents'])
  readEvents(
    ctx: Context,
    input: InputOf<(typeof op)['lifecycle.canvas.readEvents']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.canvas.readEvents']>> {
    return this.events.read(ctx, input)
  }
}
