import { z } from 'zod'
import { nodeId } from './common.schema.js'
import { operation } from './define.js'
import { node } from './node.schema.js'

const byId = z.strictObject({ id: nodeId })
const owner = ['owner'] as const
/** git looks at the whole tree before it is removed. */
const patience = 90_000

export const worktreeOperations = [
  operation({
    name: 'nodes.worktree.close',
    kind: 'route',
    summary: "Remove a node's worktree and keep its branch",
    description:
      'Commits stay on the branch. A tree with changes that are not committed is refused unless `force`, and so is one in use: its node, a node that works inside or a job. A node can not close its own: it reports, then its parent or the owner closes.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/worktree/close',
    listeners: owner,
    gate: ['self', 'svc:act'],
    params: byId,
    body: z.strictObject({
      force: z.boolean().optional().meta({ description: 'Also with changes that are not committed; they are lost' }),
    }),
    response: node,
    idempotency: 'key',
    timeout: patience,
    errors: ['not_found', 'illegal_transition', 'worktree_dirty', 'worktree_busy', 'version_conflict'],
  }),
  operation({
    name: 'nodes.worktree.abandon',
    kind: 'route',
    summary: "Remove a node's worktree and its branch",
    description:
      'Whatever the tree and the branch hold goes; `worktree.commit` says where the branch pointed, so that `git branch <name> <commit>` brings its commits back until git collects them.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/worktree/abandon',
    listeners: owner,
    gate: ['self', 'svc:act'],
    params: byId,
    response: node,
    idempotency: 'key',
    timeout: patience,
    errors: ['not_found', 'illegal_transition', 'worktree_busy', 'version_conflict'],
  }),
] as const
