import type { Command } from 'commander'
import type { Node } from '#sdk/index.js'
import { command, type Invocation, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface CloseOptions {
  readonly force?: boolean
}

interface Change {
  readonly path: string
  readonly change: string
}

export const registerWorktreeClose = (node: Command, shell: Shell): void => {
  const made = command(node, 'worktree-close <id>', {
    calls: ['nodes.worktree.close'],
    summary: "Remove a node's worktree and keep its branch with all commits",
    about: `Changes that are not committed are named, and nothing is removed unless --force says that they may be lost. The
node must not be at work; it can not close its own.`,
    examples: [['svc node worktree-close <id>', 'then merge its branch as you like']],
  }).option('--force', 'also with changes that are not committed; they are lost')
  performs<CloseOptions>(made, shell, async (call, id = '') => {
    const client = await call.client()
    show(call, await naming(call, client.nodes.worktree.close(id, { force: call.options.force === true })))
  })
}

export const registerWorktreeAbandon = (node: Command, shell: Shell): void => {
  const made = command(node, 'worktree-abandon <id>', {
    calls: ['nodes.worktree.abandon'],
    summary: "Remove a node's worktree and its branch, whatever they hold",
    about: 'It answers where the branch pointed: `git branch <name> <commit>` brings its commits back.',
  })
  performs(made, shell, async (call, id = '') => {
    show(call, await (await call.client()).nodes.worktree.abandon(id))
  })
}

const show = ({ out, json }: Invocation<object>, node: Node): void => {
  if (json) {
    out.json(node)
    return
  }
  const { branch, state, commit } = node.worktree ?? {}
  out.line(`${node.id}  ${state}  ${branch}${commit ? ` at ${commit}` : ''}`)
}

/** A refusal for changes is followed by their names. */
const naming = async <T>({ out, json }: Invocation<object>, asked: Promise<T>): Promise<T> => {
  try {
    return await asked
  } catch (error) {
    const { code, fields } = error as { code?: string; fields?: { changes?: readonly Change[]; total?: number } }
    if (code === 'worktree_dirty' && !json) {
      const { changes = [], total = 0 } = fields ?? {}
      for (const { path, change } of changes) out.note(`  ${change.padEnd(10)} ${path}`)
      if (total > changes.length) out.note(`  and ${total - changes.length} more`)
    }
    throw error
  }
}
