import { z } from 'zod'
import { nodeId } from './common.schema.js'
import { operation } from './define.js'
import { commitId, worktreeChange } from './worktree.schema.js'

/** A worktree as its host finds it again. */
const place = {
  node_id: nodeId,
  git_dir: z.string().meta({ description: "The repository's common git directory" }),
  branch: z.string(),
}

/** What lifecycle asks a host of git; each may be repeated at will. */
export const worktreeInternals = [
  operation({
    name: 'host.worktree.inspect',
    kind: 'internal',
    summary: 'Whether a worktree can be made from a directory, and where it would stand',
    service: 'host',
    body: z.object({ node_id: nodeId, cwd: z.string(), branch: z.string(), base: z.string() }),
    response: z.object({
      path: z.string().meta({ description: 'Where the tree of this node will be' }),
      base: commitId,
      repository: z.string(),
      git_dir: z.string(),
      subdir: z.string().meta({ description: 'Where `cwd` lies inside the repository; empty at its top' }),
    }),
    timeout: 30_000,
    errors: ['worktree_refused'],
  }),
  operation({
    name: 'host.worktree.create',
    kind: 'internal',
    summary: 'Make branch and tree; what an earlier attempt left is made again',
    service: 'host',
    body: z.object({ ...place, base: commitId, subdir: z.string() }),
    response: z.object({ path: z.string() }),
    timeout: 900_000,
    errors: ['worktree_refused'],
  }),
  operation({
    name: 'host.worktree.status',
    kind: 'internal',
    summary: 'Where its branch points, and what would be lost with the tree',
    service: 'host',
    body: z.object({
      ...place,
      nodes: z.array(nodeId).meta({ description: 'Nodes that work inside: while one is hosted, the tree is in use' }),
      look: z.boolean().meta({ description: 'Whether to look at the files' }),
    }),
    response: z.object({
      commit: commitId.nullable().meta({ description: 'Null when there is no branch of that name any more' }),
      changes: z.array(worktreeChange),
      total: z.int(),
    }),
    timeout: 80_000,
    errors: ['worktree_busy'],
  }),
  operation({
    name: 'host.worktree.unlock',
    kind: 'internal',
    summary: 'Take away the locks that a killed git left in the tree, unless a node is hosted there',
    service: 'host',
    body: z.object({ ...place, nodes: z.array(nodeId).meta({ description: 'Nodes that work inside' }) }),
    response: z.object({ unlocked: z.boolean() }),
  }),
  operation({
    name: 'host.worktree.remove',
    kind: 'internal',
    summary: 'Remove the tree, and the branch if it still points at the commit named',
    service: 'host',
    body: z.object({
      ...place,
      drop_branch_at: commitId.nullable().meta({ description: 'Null keeps the branch' }),
      opened: z.boolean().meta({
        description: 'Whether the branch is known to be ours; else it goes only if what was begun is still there',
      }),
    }),
    response: z.object({
      moved_to: commitId
        .nullable()
        .meta({ description: 'Where the branch points instead of at the commit named: it was left as it is' }),
    }),
    timeout: 300_000,
    errors: ['worktree_busy'],
  }),
] as const
