import type { Node } from '#common/contract/node.schema.js'
import type { WorktreeState } from '#common/contract/worktree.schema.js'

/** The column `worktree` of a node. */
export interface WorktreeRecord {
  readonly path: string
  readonly branch: string
  /** Id of the commit that the branch began at. */
  readonly base: string
  readonly repository: string
  /** The common git directory of the repository: what a program in the tree has to write to commit. */
  readonly git_dir: string
  /** Where the node's `cwd` lies in the tree; empty at its top. */
  readonly subdir: string
  /** Where the tree lies. */
  readonly host_id: string
  readonly state: WorktreeState
  /** Where the branch pointed when its end was decided. */
  readonly commit: string | null
}

export const toWorktree = ({ path, branch, base, repository, state, commit }: WorktreeRecord): Node['worktree'] => ({
  path,
  branch,
  base,
  repository,
  state,
  commit,
})
