import { Injectable } from '@nestjs/common'
import { contract, type OutputOf } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { HostRegistry } from '../supervision/host.registry.js'
import type { WorktreeRecord } from './worktree.record.js'

type Op = typeof contract

const placeOf = (nodeId: string, { git_dir, branch }: WorktreeRecord) => ({ node_id: nodeId, git_dir, branch })

/** Asks the host that a tree lies on; git is its business. */
@Injectable()
export class WorktreeHost {
  constructor(
    private readonly bus: Bus,
    private readonly hosts: HostRegistry,
  ) {}

  /**
   * Where a node's worktree would stand, on the host that would launch the node.
   *
   * @throws SvcError worktree_refused, service_unavailable
   */
  async inspect(
    ctx: Context,
    input: { node_id: string; cwd: string; branch: string; base: string },
  ): Promise<OutputOf<Op['host.worktree.inspect']> & { host_id: string }> {
    const host = this.hosts.choose()
    if (!host) throw new SvcError('service_unavailable', 'No host is there to make a worktree.', { service: 'host' })
    const target = host.host_id
    return { ...(await this.bus.call(contract['host.worktree.inspect'], ctx, input, { target })), host_id: target }
  }

  async create(ctx: Context, nodeId: string, worktree: WorktreeRecord): Promise<void> {
    const { base, subdir, host_id: target } = worktree
    await this.bus.call(
      contract['host.worktree.create'],
      ctx,
      { ...placeOf(nodeId, worktree), base, subdir },
      { target },
    )
  }

  /** @param look whether to look at the files. @throws SvcError worktree_busy */
  status(
    ctx: Context,
    nodeId: string,
    worktree: WorktreeRecord,
    { nodes, look }: { nodes: string[]; look: boolean },
  ): Promise<OutputOf<Op['host.worktree.status']>> {
    const input = { ...placeOf(nodeId, worktree), nodes, look }
    return this.bus.call(contract['host.worktree.status'], ctx, input, { target: worktree.host_id })
  }

  /** Answers where the branch points when it was to go and was left, since it isn't where it was. */
  async remove(ctx: Context, nodeId: string, worktree: WorktreeRecord): Promise<string | null> {
    const { base, commit, state, host_id: target } = worktree
    const drop = state === 'abandoning' ? (commit ?? base) : null
    const input = { ...placeOf(nodeId, worktree), drop_branch_at: drop, opened: commit !== null }
    return (await this.bus.call(contract['host.worktree.remove'], ctx, input, { target })).moved_to
  }
}
