import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { GrepService } from './grep.service.js'
import { HistoryService } from './history.service.js'

const op = contract

/** The history of the canvas, as the bus asks for it. */
@Injectable()
export class HistoryRpc {
  constructor(
    private readonly history: HistoryService,
    private readonly lines: GrepService,
  ) {}

  @Handles(op['canvas.history.search'])
  search(
    ctx: Context,
    input: InputOf<(typeof op)['canvas.history.search']>,
  ): Promise<OutputOf<(typeof op)['canvas.history.search']>> {
    return this.history.search(ctx, input)
  }

  @Handles(op['canvas.history.grep'])
  grep(
    ctx: Context,
    input: InputOf<(typeof op)['canvas.history.grep']>,
  ): Promise<OutputOf<(typeof op)['canvas.history.grep']>> {
    return this.lines.grep(ctx, input)
  }

  @Handles(op['canvas.history.read'])
  read(
    ctx: Context,
    input: InputOf<(typeof op)['canvas.history.read']>,
  ): Promise<OutputOf<(typeof op)['canvas.history.read']>> {
    return this.history.read(ctx, input)
  }

  @Handles(op['canvas.history.stats'])
  stats(
    ctx: Context,
    input: InputOf<(typeof op)['canvas.history.stats']>,
  ): Promise<OutputOf<(typeof op)['canvas.history.stats']>> {
    return this.history.stats(ctx, input)
  }
}
