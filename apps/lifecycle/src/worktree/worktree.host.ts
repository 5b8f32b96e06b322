import { Inject, Injectable } from '@nestjs/common'
import { contract, type OutputOf } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { HostRegistry, type KnownHost } from '../supervision/host.registry.js'
import type { WorktreeRecord } from './worktree.record.js'

type Op = typeof contract

/** How long (ms) a host may be silent before it is said that none is there. */
const hearingMs = 4000
const lookEveryMs = 50

const placeOf = (nodeId: string, { git_dir, branch }: WorktreeRecord) => ({ node_id: nodeId, git_dir, branch })

/** Asks the host that a tree lies on; git is its business. */
@Injectable()
export class WorktreeHost {
  constructor(
    private readonly bus: Bus,
    private readonly hosts: HostRegistry,
    @Inject(CLOCK) private readonly clock: Clock,
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
    const target = (await this.present(ctx)).host_id
    return { ...(await this.bus.call(contract['host.worktree.inspect'], ctx, input, { target })), host_id: target }
  }

  /** Hosts are heard within a heartbeat after this process began to lead. */
  private async present(ctx: Context): Promise<KnownHost> {
    for (const until = this.clock.monotonic() + hearingMs; ; ) {
      const host = this.hosts.choose()
      if (host) return host
      if (this.clock.monotonic() > until || ctx.signal.aborted) break
      await pause(this.clock, lookEveryMs, ctx.signal)
    }
    throw new SvcError('service_unavailable', 'No host is there to make a worktree.', { service: 'host' })
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

  /** @param nodes those that work inside */
  async unlock(ctx: Context, nodeId: string, worktree: WorktreeRecord, nodes: string[]): Promise<void> {
    const input = { ...placeOf(nodeId, worktree), nodes }
    await this.bus.call(contract['host.worktree.unlock'], ctx, input, { target: worktree.host_id })
  }

  /** Answers where the branch points when it was to go and was left, since it isn't where it was. */
  async remove(ctx: Context, nodeId: string, worktree: WorktreeRecord): Promise<string | null> {
    const { base, commit, state, host_id: target } = worktree
    const drop = state === 'abandoning' ? (commit ?? base) : null
    const input = { ...placeOf(nodeId, worktree), drop_branch_at: drop, opened: commit !== null }
    return (await this.bus.call(contract['host.worktree.remove'], ctx, input, { target })).moved_to
  }
}
