import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type WorktreeChange, worktreeLimits } from '#common/contract/worktree.schema.js'
import type { GitCommand } from './git.command.js'
import { PrivateGitDir, smallText } from './private.git-dir.js'
import type { Repositories } from './repository.js'

export interface Changes {
  readonly changes: WorktreeChange[]
  readonly total: number
}

export interface TreePlace {
  readonly gitDir: string
  readonly branch: string
  readonly tree: string
  /** The tree's own directory inside `gitDir`. */
  readonly admin: string
  /** Directory for the host's own git directories. */
  readonly home: string
}

/** How long (ms) git may look at a tree. */
const lookMs = 60_000
const listBytes = 4 * 1024 * 1024

/** What would be lost with a tree: changes that are not committed, and commits that no branch holds. */
export const changesOf = async (git: GitCommand, repositories: Repositories, place: TreePlace): Promise<Changes> => {
  const head = await headOf(repositories, place)
  if (!head) return bounded([{ path: 'HEAD', change: 'unreadable' }])
  const loose = head.onBranch || (await repositories.isHeld(place.gitDir, head.commit))
  const commits: WorktreeChange[] = loose ? [] : [{ path: head.commit, change: 'commits' }]
  const own = await PrivateGitDir.make(git, { ...place, head: head.commit })
  try {
    const readable = await own.takeIndex(join(place.admin, 'index'))
    if (!readable) return bounded([...commits, { path: '.', change: 'unreadable' }])
    const [files, inner] = await Promise.all([filesOf(git, own), repositoriesIn(git, own, place.tree)])
    return bounded([...commits, ...files, ...inner])
  } finally {
    await own.remove()
  }
}

const headOf = async (
  repositories: Repositories,
  { gitDir, admin }: TreePlace,
): Promise<{ commit: string; onBranch: boolean } | null> => {
  const text = (await smallText(join(admin, 'HEAD')))?.trim() ?? ''
  const branch = /^ref: refs\/heads\/(.+)$/.exec(text)?.[1]
  const commit = branch !== undefined ? await repositories.tipOf(gitDir, branch) : text
  return commit && /^[0-9a-f]{40,64}$/.test(commit) ? { commit, onBranch: branch !== undefined } : null
}

/**
 * No program is started for a submodule: that one's settings are an agent's. Files are compared as git stores them
 * without filters, and only where their times and sizes differ from the index.
 */
const filesOf = async (git: GitCommand, own: PrivateGitDir): Promise<WorktreeChange[]> => {
  const args = [
    'status',
    '--porcelain=v1',
    '-z',
    '--no-renames',
    '--untracked-files=normal',
    '--ignore-submodules=dirty',
  ]
  const end = await git.run({ args, env: own.env(), timeoutMs: lookMs, outputBytes: listBytes })
  if (end.code !== 0 && !end.truncated) return [{ path: '.', change: 'unreadable' }]
  return end.stdout
    .split('\0')
    .filter((entry) => entry.length > 3)
    .map((entry) => ({ path: entry.slice(3), change: changeOf(entry.slice(0, 2)) }))
}

const changeOf = (code: string): WorktreeChange['change'] => {
  if (code === '??') return 'untracked'
  if (code.includes('U') || code === 'AA' || code === 'DD') return 'conflict'
  if (code.includes('A')) return 'added'
  return code.includes('D') ? 'deleted' : 'modified'
}

/** Submodules with files in them: what they hold lies in the tree's own directory and goes with it. */
const repositoriesIn = async (git: GitCommand, own: PrivateGitDir, tree: string): Promise<WorktreeChange[]> => {
  const args = ['ls-files', '--stage', '-z']
  const end = await git.run({ args, env: own.env(), timeoutMs: lookMs, outputBytes: 64 * 1024 * 1024 })
  const links = end.stdout.split('\0').filter((entry) => entry.startsWith('160000 '))
  const filled = await Promise.all(
    links.map(async (entry): Promise<WorktreeChange[]> => {
      const path = entry.slice(entry.indexOf('\t') + 1)
      const inside = await readdir(join(tree, path)).catch(() => [])
      return inside.length ? [{ path, change: 'submodule' }] : []
    }),
  )
  return filled.flat()
}

const bounded = (changes: readonly WorktreeChange[]): Changes => ({
  changes: changes.slice(0, worktreeLimits.changes),
  total: changes.length,
})
