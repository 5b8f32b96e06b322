import { contract } from '../../libs/common/src/contract/index.js'
import type { Context } from '../../libs/common/src/kernel/context.js'
import type { PlayedHost } from './played-host.js'

export type GitStep = 'inspect' | 'create' | 'status' | 'unlock' | 'remove'

const commit = '1'.repeat(40)

/** What a host answers of git, for trees that are nothing but paths; a step that is held answers when it is let go. */
export class PlayedGit {
  readonly #held = new Map<GitStep, PromiseWithResolvers<void>>()

  /** To be called before the host joins. */
  serveAt(host: PlayedHost, directory: string): void {
    const answers: Record<GitStep, (input: { node_id: string }) => unknown> = {
      inspect: ({ node_id }) => ({
        path: `${directory}/worktrees/${node_id}`,
        base: commit,
        repository: directory,
        git_dir: `${directory}/.git`,
        subdir: '',
      }),
      create: ({ node_id }) => ({ path: `${directory}/worktrees/${node_id}` }),
      status: () => ({ commit, changes: [], total: 0 }),
      unlock: () => ({ unlocked: false }),
      remove: () => ({ moved_to: null }),
    }
    const steps = Object.keys(answers) as GitStep[]
    host.more = {
      operations: steps.map((step) => contract[`host.worktree.${step}`]),
      handlers: Object.fromEntries(
        steps.map((step) => [
          `host.worktree.${step}`,
          async (_ctx: Context, input: unknown) => {
            await this.#held.get(step)?.promise
            return answers[step](input as { node_id: string })
          },
        ]),
      ),
    }
  }

  hold(step: GitStep): void {
    this.#held.set(step, Promise.withResolvers())
  }

  letGo(): void {
    for (const { resolve } of this.#held.values()) resolve()
    this.#held.clear()
  }
}
