import { Injectable } from '@nestjs/common'
import { systemContext } from '#common/kernel/context.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import type { NodeRecord } from '../node/node.record.js'
import { WorktreeHost } from './worktree.host.js'
import type { WorktreeRecord } from './worktree.record.js'
import { WorktreeRepository } from './worktree.repository.js'

/** A tree stands in a directory of its node's name. */
const treeForm = /\/worktrees\/(node_[0-9a-z]{26})(?:\/|$)/

/** The worktree that a node works in: its own, or that of a node above it whose `cwd` it inherited. */
@Injectable()
export class WorktreeHomes {
  constructor(
    private readonly worktrees: WorktreeRepository,
    private readonly host: WorktreeHost,
  ) {}

  async of(reader: Reader, node: Pick<NodeRecord, 'worktree' | 'cwd'>): Promise<WorktreeRecord | null> {
    if (node.worktree) return node.worktree
    const [, owner] = treeForm.exec(node.cwd) ?? []
    if (owner === undefined) return null
    const found = await this.worktrees.of(reader, owner)
    return found && (node.cwd === found.path || node.cwd.startsWith(`${found.path}/`)) ? found : null
  }

  /** The common git directory that a program of the node writes to commit; null outside of a worktree. */
  async gitDirOf(reader: Reader, node: Pick<NodeRecord, 'worktree' | 'cwd'>): Promise<string | null> {
    return (await this.of(reader, node))?.git_dir ?? null
  }

  /** Before a node is launched in its own tree again: an earlier process may have been killed while git wrote. */
  async makeReady(reader: Reader, node: NodeRecord): Promise<void> {
    if (!node.worktree || node.generation === 1) return
    const inside = await this.worktrees.occupants(reader, node.worktree.path)
    const nodes = [...new Set([node.id, ...inside.map(({ id }) => id)])]
    await this.host.unlock(systemContext('lifecycle'), node.id, node.worktree, nodes)
  }

  /**
   * Refuses work in a tree that is gone, or on its way out; one that is being made is waited for.
   *
   * @throws SvcError illegal_transition
   */
  async requireUsable(reader: Reader, node: Pick<NodeRecord, 'worktree' | 'cwd'>, event: string): Promise<void> {
    const home = await this.of(reader, node)
    if (home && home.state !== 'creating' && home.state !== 'open') throw treeGone(home, event)
  }
}

export const treeGone = ({ path, branch, state }: WorktreeRecord, event: string): SvcError => {
  const kept = state === 'closing' || state === 'closed' ? ` Its commits are on the branch ${branch}.` : ''
  const remedy = 'Create a node with a worktree of its own, and the branch as its base if it was kept.'
  return new SvcError('illegal_transition', `The worktree at ${path} is ${state}: nobody can work there.${kept}`, {
    state,
    event,
    remedy,
  })
}
