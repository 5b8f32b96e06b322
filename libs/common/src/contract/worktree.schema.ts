import { z } from 'zod'

/** `creating`, `closing` and `abandoning` are on their way: the daemon carries them on, whatever was restarted. */
export const worktreeStates = ['creating', 'open', 'closing', 'closed', 'abandoning', 'abandoned'] as const
export type WorktreeState = (typeof worktreeStates)[number]

/** Why no worktree can be made; `reason` of `worktree_refused`. */
export const worktreeRefusals = [
  'not_a_repository',
  'bare',
  'base_not_found',
  'branch_exists',
  'branch_invalid',
  'git_missing',
  'not_permitted',
  'checkout_failed',
] as const
export type WorktreeRefusal = (typeof worktreeRefusals)[number]

export const worktreeLimits = {
  branchLength: 200,
  baseLength: 512,
  /** Changes that a refusal names; it says how many there are. */
  changes: 100,
} as const

/** A word that git is given: no option, nothing that ends it early. */
const gitWord = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .refine((text) => !/^-|[\0\n]/.test(text), 'may not begin with - or hold line breaks')

export const worktreeCreate = z
  .strictObject({
    branch: gitWord(worktreeLimits.branchLength)
      .optional()
      .meta({ description: 'Name of the new branch; `svc/<name of the node>-<part of its id>` unless given' }),
    base: gitWord(worktreeLimits.baseLength)
      .optional()
      .meta({ description: 'Commit, branch or tag to begin at; `HEAD` of `cwd` unless given' }),
  })
  .meta({ description: 'Work in a git worktree of its own, on a new branch of the repository that `cwd` lies in' })
export type WorktreeCreate = z.infer<typeof worktreeCreate>

export const commitId = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/)

/** A node's worktree as the API shows it. */
export const worktree = z
  .object({
    path: z.string().meta({ description: 'Where the tree lies; the node works there, or in a directory of it' }),
    branch: z.string(),
    base: z.string().meta({ description: 'Id of the commit that the branch began at' }),
    repository: z.string().meta({ description: 'The tree that it was made from' }),
    state: z.enum(worktreeStates),
    commit: z.string().nullable().meta({
      description:
        'Where the branch pointed when the worktree was closed or abandoned; `git branch <name> <commit>` brings back what an abandoned one held',
    }),
  })
  .meta({ id: 'Worktree' })

export const worktreeChange = z.object({
  path: z.string(),
  change: z.enum(['modified', 'added', 'deleted', 'untracked', 'conflict', 'submodule', 'commits', 'unreadable']).meta({
    description:
      '`submodule`: it holds a repository of its own. `commits`: commits that no branch holds. `unreadable`: git can not tell.',
  }),
})
export type WorktreeChange = z.infer<typeof worktreeChange>
