import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type Node } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { WorktreeService } from './worktree.service.js'

const op = contract

/** Worktrees of nodes, as the bus asks for them. */
@Injectable()
export class WorktreeRpc {
  constructor(private readonly worktrees: WorktreeService) {}

  @Handles(op['nodes.worktree.close'])
  async close(ctx: Context, input: InputOf<(typeof op)['nodes.worktree.close']>): Promise<Node> {
    return (await this.worktrees.close(ctx, input)).value
  }

  @Handles(op['nodes.worktree.abandon'])
  async abandon(ctx: Context, input: InputOf<(typeof op)['nodes.worktree.abandon']>): Promise<Node> {
    return (await this.worktrees.abandon(ctx, input)).value
  }
}
