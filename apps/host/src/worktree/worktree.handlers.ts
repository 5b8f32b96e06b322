import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { WorktreeService } from './worktree.service.js'

const op = contract

/** What lifecycle asks of git on this machine. */
@Injectable()
export class WorktreeHandlers {
  constructor(@Inject(WorktreeService) private readonly worktrees: WorktreeService) {}

  @Handles(op['host.worktree.inspect'])
  inspect(_ctx: Context, input: InputOf<(typeof op)['host.worktree.inspect']>) {
    return this.worktrees.inspect(input)
  }

  @Handles(op['host.worktree.create'])
  create(_ctx: Context, input: InputOf<(typeof op)['host.worktree.create']>) {
    return this.worktrees.create(input)
  }

  @Handles(op['host.worktree.status'])
  status(_ctx: Context, input: InputOf<(typeof op)['host.worktree.status']>) {
    return this.worktrees.status(input)
  }

  @Handles(op['host.worktree.unlock'])
  unlock(_ctx: Context, input: InputOf<(typeof op)['host.worktree.unlock']>) {
    return this.worktrees.unlock(input)
  }

  @Handles(op['host.worktree.remove'])
  remove(_ctx: Context, input: InputOf<(typeof op)['host.worktree.remove']>) {
    return this.worktrees.remove(input)
  }
}
