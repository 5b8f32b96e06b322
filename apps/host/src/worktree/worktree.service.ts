import { mkdir, open, readdir, realpath, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import { type contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { type Clock, pause, systemClock } from '#common/kernel/clock.js'
import { isSvcError, SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { BrokerService } from '../broker/broker.service.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { realPath } from '../sandbox/real.paths.js'
import { SANDBOX_GROUND, type SandboxGround } from '../sandbox/sandbox.ground.js'
import { GitCommand, lastLine } from './git.command.js'
import { GitHold, type Writes } from './git.hold.js'
import { PrivateGitDir, smallText } from './private.git-dir.js'
import { entryOf, Repositories, refused } from './repository.js'
import { changesOf, type TreePlace } from './tree.changes.js'

type Op = typeof contract
type Create = InputOf<Op['host.worktree.create']>
type Remove = InputOf<Op['host.worktree.remove']>

/** How long (ms) git may write a tree, and how long its removal may take. */
const checkoutMs = 600_000
const removalMs = 240_000
/** How long (ms) a node that has just ended may take to be gone. */
const endingMs = 5000
const lookEveryMs = 50

/**
 * Worktrees of nodes, by real git. One step at a time for a repository. Each may be repeated: a note beside the tree says
 * that its making was begun and not ended, so that what a kill left is removed and made again, and a branch that somebody
 * else made is never taken for ours.
 */
@Injectable()
export class WorktreeService implements OnModuleInit {
  readonly #clock: Clock = systemClock
  readonly #git: GitCommand
  readonly #repositories: Repositories
  readonly #queues = new Map<string, Promise<unknown>>()

  constructor(
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(BrokerService) private readonly brokers: Pick<BrokerService, 'hosted'>,
    @Inject(SANDBOX_GROUND) ground: Pick<SandboxGround, 'level'>,
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.#git = new GitCommand(place, new GitHold(ground.level))
    this.#repositories = new Repositories(this.#git)
  }

  /** What a kill left of the host's own git directories. */
  async onModuleInit(): Promise<void> {
    await rm(this.#home, { recursive: true, force: true })
  }

  /** @throws SvcError worktree_refused */
  async inspect(input: InputOf<Op['host.worktree.inspect']>): Promise<OutputOf<Op['host.worktree.inspect']>> {
    const found = await this.#repositories.find(input.cwd)
    const base = await this.#repositories.commitOf(found, input.base)
    await this.#repositories.requireFree(found.gitDir, input.branch)
    return {
      path: this.#treeOf(input.node_id),
      base,
      repository: found.repository,
      git_dir: found.gitDir,
      subdir: found.subdir,
    }
  }

  /** @throws SvcError worktree_refused, when nothing is left of it */
  create(input: Create): Promise<{ path: string }> {
    return this.#inTurn(input.git_dir, async () => {
      const path = this.#treeOf(input.node_id)
      const begun = await entryOf(this.#noteOf(input.node_id))
      if (!begun && (await this.#isMade(input))) return { path }
      if (begun) await this.#undo(input)
      await this.#requireRepository(input.git_dir)
      await this.#repositories.requireFree(input.git_dir, input.branch)
      await this.#note(input.node_id)
      try {
        await this.#make(input)
      } catch (error) {
        this.log.warn({ err: error, node_id: input.node_id }, 'a worktree could not be made')
        await this.#undo(input)
        throw isSvcError(error) ? error : refused('checkout_failed', `The tree could not be made: ${error}`)
      }
      await this.#forget(input.node_id)
      return { path }
    })
  }

  /** @throws SvcError worktree_busy */
  async status(input: InputOf<Op['host.worktree.status']>): Promise<OutputOf<Op['host.worktree.status']>> {
    await this.#requireQuiet(input.nodes)
    return this.#inTurn(input.git_dir, async () => {
      await this.#requireOnlyHere(input)
      const commit = await this.#repositories.tipOf(input.git_dir, input.branch)
      const place = this.#placeOf(input)
      if (!input.look || !(await entryOf(place.tree))) return { commit, changes: [], total: 0 }
      return { commit, ...(await changesOf(this.#git, this.#repositories, place)) }
    })
  }

  /** A node that was killed in the middle of a commit left its lock, and its successor could commit nothing. */
  unlock(input: InputOf<Op['host.worktree.unlock']>): Promise<{ unlocked: boolean }> {
    return this.#inTurn(input.git_dir, async () => {
      if (this.brokers.hosted().some(({ node_id }) => input.nodes.includes(node_id))) return { unlocked: false }
      const { admin } = this.#placeOf(input)
      await Promise.all(['index.lock', 'HEAD.lock'].map((name) => rm(join(admin, name), { force: true })))
      return { unlocked: true }
    })
  }

  /** @throws SvcError worktree_busy */
  async remove(input: Remove): Promise<{ moved_to: string | null }> {
    await this.#requireQuiet([input.node_id])
    return this.#inTurn(input.git_dir, async () => {
      const { tree, admin } = this.#placeOf(input)
      const note = this.#noteOf(input.node_id)
      const ours = input.opened || (await entryOf(note)) !== null || (await entryOf(admin)) !== null
      await this.#clear(tree)
      const { drop_branch_at: at } = input
      // the branch before the tree's own directory, by which a repetition knows that it is ours
      const moved = at && ours ? await this.#repositories.dropBranch(input.git_dir, input.branch, at) : null
      if (moved) return { moved_to: moved }
      await this.#clearAdmin(admin, input.git_dir)
      await this.#forget(input.node_id)
      return { moved_to: null }
    })
  }

  async #make(input: Create): Promise<void> {
    const { git_dir, branch, base } = input
    const { tree, admin } = this.#placeOf(input)
    await mkdir(dirname(tree), { recursive: true, mode: 0o700 })
    await this.#repositories.makeBranch(git_dir, branch, base, input.node_id)
    const reason = `svc: ${input.node_id} works here`
    // locked, since a `git worktree prune` inside another node's sandbox sees no tree here
    const args = ['worktree', 'add', '--no-checkout', '--lock', '--reason', reason, '--', tree, branch]
    const writes = { gitDir: git_dir, own: [dirname(tree)] }
    const added = await this.#git.run({ args, env: { GIT_DIR: git_dir }, writes })
    if (added.code !== 0) throw refused('checkout_failed', `git could not add the worktree: ${lastLine(added)}`)
    const own = await PrivateGitDir.make(this.#git, { home: this.#home, gitDir: git_dir, tree, head: base })
    try {
      const env = own.env(join(admin, 'index'))
      const order = { env, timeoutMs: checkoutMs, writes: { gitDir: git_dir, own: [tree, this.#home], alone: true } }
      const end = await this.#git.run({ args: ['read-tree', '--reset', '-u', base], ...order })
      if (end.code !== 0) throw refused('checkout_failed', `git could not write the tree: ${lastLine(end)}`)
    } finally {
      await own.remove()
    }
    await this.#requireDirectory(tree, input.subdir)
  }

  /** The node's own directory in the tree. A base may hold a link of that name, which leads anywhere. */
  async #requireDirectory(tree: string, subdir: string): Promise<void> {
    const directory = join(tree, subdir)
    let above = tree
    for (const name of subdir.split('/').filter(Boolean)) {
      above = join(above, name)
      const entry = await entryOf(above)
      if (!entry) await mkdir(above)
      else if (!entry.isDirectory()) {
        throw refused('checkout_failed', `${subdir} is no directory in the commit that the branch begins at.`)
      }
    }
    if ((await realpath(directory)) !== directory) {
      throw refused('checkout_failed', `${subdir} leads out of the tree.`)
    }
  }

  async #isMade(input: Create): Promise<boolean> {
    const { tree, admin } = this.#placeOf(input)
    return (await entryOf(join(tree, '.git'))) !== null && (await entryOf(admin)) !== null
  }

  /** Removes what was begun; the note goes last. */
  async #undo(input: Create): Promise<void> {
    const { tree, admin } = this.#placeOf(input)
    await this.#clear(tree)
    if (await entryOf(input.git_dir)) {
      await this.#repositories.dropBranch(input.git_dir, input.branch, input.base)
      await this.#clearAdmin(admin, input.git_dir)
    }
    await this.#forget(input.node_id)
  }

  /** Nobody writes there now: no node of the tree is hosted. `rm` follows no link on its way. */
  async #clear(path: string, writes?: Writes): Promise<void> {
    if (!(await entryOf(path))) return
    const order = { timeoutMs: removalMs, ...(writes && { writes }) }
    const remove = () => this.#git.program('rm', ['-rf', '--', path], order)
    if ((await remove()).code === 0) return
    // directories that their owner may not write, as package caches are
    await this.#git.program('chmod', ['-R', 'u+rwX', '--', path], order)
    const end = await remove()
    if (end.code !== 0) throw new SvcError('internal', `${path} could not be removed: ${lastLine(end)}`)
  }

  async #clearAdmin(admin: string, gitDir: string): Promise<void> {
    const all = await entryOf(dirname(admin))
    if (!all?.isDirectory()) return
    await this.#clear(admin, { gitDir })
    // as git does
    await rmdir(dirname(admin)).catch(ifUsed)
  }

  async #requireRepository(gitDir: string): Promise<void> {
    if ((await realPath(gitDir)) !== gitDir) throw refused('not_a_repository', `The repository of ${gitDir} is gone.`)
    const worktrees = await entryOf(join(gitDir, 'worktrees'))
    if (worktrees && !worktrees.isDirectory()) throw refused('not_permitted', `${gitDir}/worktrees is no directory.`)
  }

  /** Whoever has ended a moment ago may still be leaving. */
  async #requireQuiet(nodes: readonly string[]): Promise<void> {
    const until = this.#clock.monotonic() + endingMs
    for (;;) {
      const hosted = this.brokers.hosted().find(({ node_id }) => nodes.includes(node_id))
      if (!hosted) return
      if (this.#clock.monotonic() > until) {
        throw new SvcError('worktree_busy', `A process of ${hosted.node_id} still works in the tree.`, {
          nodes: [hosted.node_id],
        })
      }
      await pause(this.#clock, lookEveryMs)
    }
  }

  /** A branch that somebody has checked out elsewhere is theirs as well. */
  async #requireOnlyHere({ git_dir, branch, node_id }: { git_dir: string; branch: string; node_id: string }) {
    const others = await readdir(join(git_dir, 'worktrees')).catch(() => [])
    const heads = ['HEAD', ...others.filter((name) => name !== node_id).map((name) => `worktrees/${name}/HEAD`)]
    for (const head of heads) {
      if ((await smallText(join(git_dir, head)))?.trim() !== `ref: refs/heads/${branch}`) continue
      throw new SvcError('worktree_busy', `The branch ${branch} is checked out in another tree of the repository.`)
    }
  }

  #placeOf({ node_id, git_dir, branch }: { node_id: string; git_dir: string; branch: string }): TreePlace {
    return {
      gitDir: git_dir,
      branch,
      tree: this.#treeOf(node_id),
      admin: join(git_dir, 'worktrees', node_id),
      home: this.#home,
    }
  }

  async #note(nodeId: string): Promise<void> {
    await mkdir(dirname(this.#noteOf(nodeId)), { recursive: true, mode: 0o700 })
    const file = await open(this.#noteOf(nodeId), 'w', 0o600)
    try {
      await file.sync()
    } finally {
      await file.close()
    }
  }

  async #forget(nodeId: string): Promise<void> {
    await rm(this.#noteOf(nodeId), { force: true })
  }

  #treeOf(nodeId: string): string {
    return join(this.place.data.path, 'worktrees', nodeId)
  }

  /** Outside of what any sandbox shows. */
  #noteOf(nodeId: string): string {
    return join(this.place.data.path, 'worktrees', `.making-${nodeId}`)
  }

  get #home(): string {
    return join(this.place.data.run, 'git')
  }

  async #inTurn<T>(gitDir: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#queues.get(gitDir) ?? Promise.resolve()).then(work, work)
    const settled = turn.catch(() => undefined)
    this.#queues.set(gitDir, settled)
    try {
      return await turn
    } finally {
      if (this.#queues.get(gitDir) === settled) this.#queues.delete(gitDir)
    }
  }
}

/** Others are there, or git removed it meanwhile. */
const ifUsed = (error: NodeJS.ErrnoException): void => {
  if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code ?? '')) throw error
}
