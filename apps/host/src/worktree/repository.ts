import { lstat, realpath, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { WorktreeRefusal } from '#common/contract/worktree.schema.js'
import { type Clock, pause, systemClock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import { type GitCommand, type GitEnd, lastLine } from './git.command.js'
import { smallText } from './private.git-dir.js'

export interface Found {
  /** Top of the tree that the directory lies in. */
  readonly repository: string
  readonly gitDir: string
  /** That of this one tree, in the other where that is a worktree: its HEAD is here. */
  readonly own: string
  /** Where the directory lies below the top; empty at the top. */
  readonly subdir: string
}

export const refused = (reason: WorktreeRefusal, message: string): SvcError =>
  new SvcError('worktree_refused', message, { reason })

const none = '0'.repeat(40)
/** A lock of a ref lives for milliseconds; one that stays the same for this long (ms) was left by a git that was killed. */
const staleAfter = 2000

/** What a repository says of itself. No program that it names is run, and no file of a tree is read. */
export class Repositories {
  readonly #clock: Clock = systemClock

  constructor(private readonly git: GitCommand) {}

  /** @throws SvcError worktree_refused: git_missing, not_a_repository, bare, not_permitted */
  async find(cwd: string): Promise<Found> {
    const asked = await this.git.run({
      args: ['-C', cwd, 'rev-parse', '--is-bare-repository', '--is-inside-work-tree'],
    })
    if (asked.code !== 0) throw notFound(cwd, asked)
    const [bare, inside] = asked.stdout.split('\n')
    if (bare === 'true') throw refused('bare', `${cwd} is a bare repository: it has no tree to work in.`)
    if (inside !== 'true') throw refused('not_a_repository', `${cwd} lies in the git directory, not in a tree of it.`)
    // in one go, since the directory may be made another one between two calls
    const paths = [
      '--path-format=absolute',
      '--show-toplevel',
      '--git-common-dir',
      '--absolute-git-dir',
      '--show-prefix',
    ]
    const text = await this.git.text({ args: ['-C', cwd, 'rev-parse', ...paths] })
    const [repository = '', common = '', own = '', prefix = '', more] = text.split('\n')
    if (more !== undefined) throw refused('not_permitted', `${cwd} has a line break in its path.`)
    const gitDir = await realpath(common)
    const ownDir = await realpath(own)
    await this.#requireKnown(repository, gitDir, ownDir)
    return { repository, gitDir, own: ownDir, subdir: prefix.replace(/\/$/, '') }
  }

  /**
   * A `.git` file is easily written, by a node too, and names any repository of the machine. It counts where that
   * repository knows of the tree: as a worktree of its own, or as a submodule's.
   */
  async #requireKnown(repository: string, common: string, own: string): Promise<void> {
    const link = await entryOf(join(repository, '.git'))
    if (link?.isDirectory() && (await realpath(join(repository, '.git'))) === common) return
    const back = (await smallText(join(own, 'gitdir')))?.trim()
    if (own !== common && back && resolve(own, back) === join(repository, '.git')) return
    const { code, stdout } = await this.git.run({ args: ['config', '--get', 'core.worktree'], env: { GIT_DIR: own } })
    if (code === 0 && resolve(own, stdout.trim()) === repository) return
    throw refused('not_permitted', `${repository}/.git names ${common}, which knows nothing of that tree.`)
  }

  /** @throws SvcError worktree_refused base_not_found */
  async commitOf({ repository, gitDir, own }: Found, base: string): Promise<string> {
    const end = await this.git.run({
      args: ['rev-parse', '--verify', '--quiet', `${base}^{commit}`],
      // a tree that its settings name is none that git needs here, or sees
      env: { GIT_DIR: own, GIT_WORK_TREE: '/' },
      writes: { gitDir, alone: true },
    })
    const id = end.stdout.trim()
    if (end.code === 0 && id) return id
    const borrows = await entryOf(join(gitDir, 'objects/info/alternates'))
    const why = borrows ? ' What it borrows from another repository no node would see.' : ''
    throw refused('base_not_found', `${base} names no commit of the repository at ${repository}.${why}`)
  }

  /** @throws SvcError worktree_refused: branch_invalid, branch_exists */
  async requireFree(gitDir: string, branch: string): Promise<void> {
    const form = await this.git.run({ args: ['check-ref-format', `refs/heads/${branch}`] })
    if (form.code !== 0 || branch === 'HEAD') {
      throw refused('branch_invalid', `git takes no branch of the name ${branch}.`)
    }
    const env = { GIT_DIR: gitDir }
    const args = ['for-each-ref', '--count=1', '--format=%(refname:lstrip=2)', `refs/heads/${branch}`]
    const taken = await this.git.text({ args, env })
    if (taken) throw refused('branch_exists', `There is a branch ${taken} already.`)
    const segments = branch.split('/')
    for (let depth = 1; depth < segments.length; depth += 1) {
      const above = segments.slice(0, depth).join('/')
      if (await this.tipOf(gitDir, above)) {
        throw refused('branch_exists', `There is a branch ${above}, so that none can be below its name.`)
      }
    }
    await this.#requireNoLinks(gitDir, branch)
  }

  /** Where a branch points; null when there is none. */
  async tipOf(gitDir: string, branch: string): Promise<string | null> {
    const args = ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`]
    const end = await this.git.run({ args, env: { GIT_DIR: gitDir } })
    return end.code === 0 ? end.stdout.trim() : null
  }

  /** Whether a branch or a tag holds the commit. */
  async isHeld(gitDir: string, commit: string): Promise<boolean> {
    const args = ['for-each-ref', '--count=1', '--contains', commit, '--format=%(refname)']
    const end = await this.git.run({ args, env: { GIT_DIR: gitDir }, timeoutMs: 60_000 })
    return end.code === 0 && end.stdout.trim() !== ''
  }

  /** @throws SvcError worktree_refused branch_exists, when somebody made it meanwhile */
  async makeBranch(gitDir: string, branch: string, at: string, nodeId: string): Promise<void> {
    const args = [
      'update-ref',
      '-m',
      `svc: worktree of ${nodeId}`,
      `refs/heads/${branch}`,
      at,
      none.slice(0, at.length),
    ]
    const end = await this.git.run({ args, env: { GIT_DIR: gitDir, ...committer }, writes: { gitDir } })
    if (end.code !== 0) throw refused('branch_exists', `The branch ${branch} could not be made: ${lastLine(end)}`)
  }

  /** Deletes the branch if it points there; answers where else it points when it doesn't. */
  async dropBranch(gitDir: string, branch: string, at: string): Promise<string | null> {
    await this.#requireNoLinks(gitDir, branch)
    const ref = `refs/heads/${branch}`
    for (let attempt = 0; ; attempt += 1) {
      const env = { GIT_DIR: gitDir, ...committer }
      const end = await this.git.run({ args: ['update-ref', '-d', ref, at], env, writes: { gitDir } })
      const tip = await this.tipOf(gitDir, branch)
      if (tip === null || tip !== at) return tip
      if (attempt === 3) throw new SvcError('internal', `The branch ${branch} could not be removed: ${lastLine(end)}`)
      await this.#clearLock(join(gitDir, `${ref}.lock`))
    }
  }

  async #clearLock(path: string): Promise<void> {
    const before = await entryOf(path)
    if (!before) return
    await pause(this.#clock, staleAfter)
    const after = await entryOf(path)
    if (after && after.ino === before.ino && after.mtimeMs === before.mtimeMs) {
      await rm(path, { force: true })
    }
  }

  /** An agent writes into the git directory: a link on the way would lead what the host writes out of it. */
  async #requireNoLinks(gitDir: string, branch: string): Promise<void> {
    for (const root of ['refs/heads', 'logs/refs/heads']) {
      for (let at = join(gitDir, root, branch); at.length > gitDir.length; at = dirname(at)) {
        const entry = await entryOf(at)
        if (entry?.isSymbolicLink()) throw refused('not_permitted', `${at} is a link; git itself makes none there.`)
      }
    }
  }
}

/** Who stands in the log of a ref that the host writes. */
const committer = {
  GIT_COMMITTER_NAME: 'svc',
  GIT_COMMITTER_EMAIL: 'svc@localhost',
  GIT_AUTHOR_NAME: 'svc',
  GIT_AUTHOR_EMAIL: 'svc@localhost',
} as const

export const entryOf = (path: string) =>
  lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })

const notFound = (cwd: string, end: GitEnd): SvcError => {
  if (end.stderr.includes('dubious ownership')) {
    return refused(
      'not_permitted',
      `The repository at ${cwd} belongs to another account. \`git config --global --add safe.directory <its path>\` allows it.`,
    )
  }
  return refused('not_a_repository', `${cwd} is in no git repository: ${lastLine(end)}`)
}
