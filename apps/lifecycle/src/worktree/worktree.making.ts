import { join } from 'node:path'
import { Injectable } from '@nestjs/common'
import type { NodeCreate } from '#common/contract/node.schema.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { reachOfApp, requireReach } from '../node/node.reach.js'
import { NodeRepository } from '../node/node.repository.js'
import { WorktreeCarrier } from './worktree.carrier.js'
import { WorktreeHomes } from './worktree.home.js'
import { WorktreeHost } from './worktree.host.js'
import type { WorktreeRecord } from './worktree.record.js'

/** Where a new node is to work. */
export interface MadePlace {
  readonly worktree: WorktreeRecord
  readonly cwd: string
}

/** Characters of a node's name that stand in the name of its branch. */
const nameLength = 40

/** What a branch is called unless it is said: after its node, so that a person knows it in a list. */
export const branchNameOf = (nodeName: string, nodeId: string): string => {
  const words = nodeName
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, nameLength)
    .replace(/^-+|-+$/g, '')
  return `svc/${words || 'node'}-${nodeId.slice(-6)}`
}

/** The worktree that a node is created with: first looked at, then recorded with the node, then made. */
@Injectable()
export class WorktreeMaking {
  constructor(
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly homes: WorktreeHomes,
    private readonly host: WorktreeHost,
    private readonly carrier: WorktreeCarrier,
  ) {}

  /**
   * Undefined when none is asked for, or nothing says where.
   *
   * @throws SvcError worktree_refused, path_outside_scope, service_unavailable
   */
  async prepare(ctx: Context, nodeId: string, input: NodeCreate): Promise<MadePlace | undefined> {
    if (!input.worktree) return undefined
    const maker = ctx.actor.nodeId === undefined ? undefined : await this.nodes.find(this.database, ctx.actor.nodeId)
    const parentId = input.root ? undefined : (input.parent_id ?? ctx.actor.nodeId)
    const parent = parentId === undefined ? undefined : await this.nodes.find(this.database, parentId)
    const cwd = input.cwd ?? parent?.cwd
    if (!cwd) return undefined
    const reaching = maker ?? (ctx.actor.kind === 'app' ? reachOfApp(ctx.actor, parent ?? null) : undefined)
    if (reaching) requireReach(reaching, cwd)
    const { branch = branchNameOf(input.name ?? input.kind ?? 'general', nodeId), base = 'HEAD' } = input.worktree
    const found = await this.host.inspect(ctx, { node_id: nodeId, cwd, branch, base })
    const own = maker ?? parent
    if (reaching && (!own || (await this.homes.gitDirOf(this.database, own)) !== found.git_dir)) {
      // a worktree opens its whole repository, which need not lie where the tree does
      requireReach(reaching, found.repository)
      requireReach(reaching, found.git_dir)
    }
    const { path, git_dir, repository, subdir, host_id } = found
    return {
      worktree: {
        path,
        branch,
        base: found.base,
        repository,
        git_dir,
        subdir,
        host_id,
        state: 'creating',
        commit: null,
      },
      cwd: join(path, subdir),
    }
  }

  /** After the commit that recorded it. */
  begin(nodeId: string): void {
    void this.carrier.carry(nodeId)
  }
}
