import { Inject, Injectable } from '@nestjs/common'
import type { Actor } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { parseScope } from '#common/kernel/scopes.js'
import { type FileRoot, type FileView, machineView, viewOfPlan } from '#machine/files/file.view.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { credentialsOf, startedAtLoginOf } from '../sandbox/credential.places.js'
import { frozenIn } from '../sandbox/git.places.js'
import { realPath, within } from '../sandbox/real.paths.js'
import { SANDBOX_GROUND, type SandboxGround } from '../sandbox/sandbox.ground.js'
import { SandboxPlanner } from '../sandbox/sandbox.planner.js'

/** What each caller sees of this machine's files. */
@Injectable()
export class FileViews {
  constructor(
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(SANDBOX_GROUND) private readonly ground: SandboxGround,
    @Inject(SandboxPlanner) private readonly planner: SandboxPlanner,
  ) {}

  /**
   * The owner sees all, a node what its programs see, anybody else the directories that the scopes name.
   *
   * @throws SvcError `path_outside_scope` for a node whose working directory no node may have; `node_token_required`
   * for a node that stands nowhere.
   */
  of({ kind, nodeId, place, scopes }: Actor): Promise<FileView> | FileView {
    if (kind === 'owner') return machineView
    if (nodeId === undefined) return this.#ofScopes(scopes)
    if (place === undefined) throw new SvcError('node_token_required')
    return this.#ofNode(nodeId, place, scopes)
  }

  async #ofNode(nodeId: string, { cwd, git_dir }: NonNullable<Actor['place']>, scopes: readonly string[]) {
    const plan = await this.planner.planFor({ nodeId, cwd, scopes, gitDir: git_dir })
    return viewOfPlan(plan, { cwd, readable: [this.planner.scratchOf(nodeId)] })
  }

  async #ofScopes(scopes: readonly string[]): Promise<FileView> {
    const { data, sandbox } = this.place
    const { home } = this.ground
    const roots = (await Promise.all(scopes.map(rootsOf))).flat().filter(({ real }) => !within(real, data.path))
    const writable = roots.flatMap(({ real, mode }) => (mode === 'write' ? [real] : []))
    const opened = (path: string): boolean => roots.some(({ real }) => real === path)
    return {
      cwd: '/',
      roots: [...roots.filter(({ mode }) => mode === 'read'), ...roots.filter(({ mode }) => mode === 'write')],
      frozen: [...(await Promise.all(writable.map(frozenIn))).flat(), ...startedAtLoginOf(home)],
      hidden: [data.path, ...sandbox.secretFiles, ...credentialsOf(home)].filter((path) => !opened(path)),
    }
  }
}

/** By its name and by its real path, when the directory exists. */
const rootsOf = async (text: string): Promise<FileRoot[]> => {
  const scope = parseScope(text, { knowsTool: () => true })
  if (scope.kind !== 'area' || scope.family !== 'files' || scope.holder.kind !== 'user' || !scope.path) return []
  const real = await realPath(scope.path)
  const mode = scope.level === 'read' ? 'read' : 'write'
  return real ? [...new Set([scope.path, real])].map((at) => ({ at, real, mode })) : []
}
