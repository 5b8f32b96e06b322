import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { Inject, Injectable } from '@nestjs/common'
import { type Clock, systemClock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import { covers, parseScope } from '#common/kernel/scopes.js'
import type { Mount, SandboxPlan } from '#machine/sandbox/sandbox.plan.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { credentialsOf, socketsOf, startedAtLoginOf } from './credential.places.js'
import { commonOfWorktree, frozenIn, frozenInCommon } from './git.places.js'
import type { NodeDirectories } from './node.directories.js'
import { NodePlaces } from './node.places.js'
import { entryAt, linksOnTheWay, realPath, within } from './real.paths.js'
import { SANDBOX_GROUND, type SandboxGround } from './sandbox.ground.js'

export interface PlanOrder {
  readonly nodeId: string
  readonly cwd: string
  readonly scopes: readonly string[]
  /** The common git directory of the worktree that `cwd` is. */
  readonly gitDir?: string | null
  /** The nodes behind its making, the nearest first; lifecycle names them when it launches. */
  readonly makers?: readonly Maker[] | undefined
}

export interface Maker {
  /** Null, and so is `cwd`: the application behind the first of them. */
  readonly node_id: string | null
  readonly cwd: string | null
  readonly scopes: readonly string[]
}

/** A plan is good for this long (ms): a tool call after the other needn't look at the disk again. */
const trusted = 2000
/** Views of the kernel's own, of which every sandbox has one of its own. */
const kernelPlaces = ['/proc', '/sys', '/dev'] as const

const outside = (path: string, why: string): SvcError =>
  new SvcError('path_outside_scope', `A node can't work in ${path}: ${why}`, {
    path,
    remedy: 'Name another directory.',
  })

/** Decides what the programs of a node see of this machine. */
@Injectable()
export class SandboxPlanner {
  readonly #known = new Map<string, { readonly at: number; readonly plan: Promise<SandboxPlan> }>()
  readonly #clock: Clock = systemClock
  /** Whether the owner consented to running programs where nothing holds them; lifecycle says it. */
  consented = false

  constructor(
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(SANDBOX_GROUND) private readonly ground: SandboxGround,
  ) {}

  /**
   * @throws SvcError `path_outside_scope` for a working directory that no node may have: the data directory, which holds
   * the owner's token, or a view of the kernel's; for directories that lead elsewhere than at first, or to where a node
   * that made this one does not see. `sandbox_required` for a node that may run what it likes, where
   * nothing holds it and the owner did not consent.
   */
  async planFor(order: PlanOrder): Promise<SandboxPlan> {
    this.#requireHold(order)
    const key = JSON.stringify([order.nodeId, order.cwd, order.scopes, order.gitDir ?? null, order.makers ?? []])
    const now = this.#clock.monotonic()
    const known = this.#known.get(key)
    if (known && now - known.at < trusted) return known.plan
    for (const [name, { at }] of this.#known) if (now - at >= trusted) this.#known.delete(name)
    const plan = this.#make(order)
    this.#known.set(key, { at: now, plan })
    plan.catch(() => this.#known.delete(key))
    return plan
  }

  /** Where the broker of a node keeps long outputs; the node reads it. */
  scratchOf(nodeId: string): string {
    return this.ground.directories.of(nodeId).scratch
  }

  async #make({ nodeId, cwd, scopes, gitDir, makers = [] }: PlanOrder): Promise<SandboxPlan> {
    const directories = await this.ground.directories.prepare(nodeId, this.ground.gitConfig)
    const places = new NodePlaces(directories.root)
    const at = (await places.of(cwd)) ?? resolve(cwd)
    const tree = this.#treeOf(cwd, nodeId, gitDir ?? undefined)
    this.#refuse(at, tree)
    const granted = await this.#granted(scopes, (path) => places.of(path))
    await this.#requireReach([{ path: at, mode: 'write' }, ...granted], tree, makers)
    const common = gitDir ? await this.#recorded(gitDir) : places.settle('common', await this.#commonOf(at, makers))
    places.keep()
    // git works from the top of a tree, of which `cwd` may be a directory
    const whole = [tree, common].flatMap((path) => (path === undefined ? [] : [{ path, mode: 'write' } as const]))
    const others = [...granted, ...whole]
    const mounts = simplest(at, others, credentialsOf(this.ground.home))
    const { level } = this.ground
    const homeAt = this.#homeFor(mounts, directories.home)
    const account = await this.ground.accounts?.prepare(nodeId, directories, mounts, this.ground.installation)
    const links = await this.#links([cwd, ...granted.map(({ name }) => name)], mounts, directories, homeAt)
    return {
      level: level.level,
      ...(level.bwrap !== undefined && {
        bwrap: level.bwrap,
        nestingRefused: level.nestingRefused === true,
        takesOpenFiles: level.takesOpenFiles === true,
      }),
      mounts,
      frozen: await this.#frozen(mounts, tree ?? at, common),
      hidden: await this.#hidden(mounts),
      system: [...(await this.#system(mounts)), ...links],
      ...(account && { account }),
      home: directories.home,
      homeAt,
      temporary: directories.temporary,
      env: { ...this.ground.env, SVC_SCOPES: scopes.join(' ') },
      limits: this.place.sandbox.limits,
    }
  }

  #requireHold({ scopes }: PlanOrder): void {
    const { level, detail } = this.ground.level
    if (level !== 'none' || this.consented || !covers(scopes, 'svc:act')) return
    throw new SvcError('sandbox_required', `This machine has no sandbox for what nodes run: ${detail}`, { detail })
  }

  /** The worktree that the node works in: its own, or with `gitDir`, by lifecycle's word, that of a node above it. */
  #treeOf(cwd: string, nodeId: string, gitDir: string | undefined): string | undefined {
    const trees = join(this.place.data.path, 'worktrees')
    if (!within(cwd, trees)) return undefined
    const [owner = ''] = relative(trees, cwd).split('/')
    return owner === nodeId || (owner.startsWith('node_') && gitDir !== undefined) ? join(trees, owner) : undefined
  }

  #refuse(cwd: string, tree: string | undefined): void {
    const { data } = this.place
    // a directory of a tree that was made a link leads out of it
    if (tree !== undefined && !within(cwd, tree)) throw outside(cwd, `it lies outside of the worktree ${tree}.`)
    if (within(cwd, data.path) && tree === undefined) {
      throw outside(cwd, "it lies in the daemon's data directory.")
    }
    const kernels = kernelPlaces.find((place) => within(cwd, place))
    if (kernels) throw outside(cwd, `${kernels} is a view of the kernel's.`)
    if (within(cwd, '/run') && !within(cwd, '/run/media')) {
      throw outside(cwd, '/run holds the sockets of the system.')
    }
  }

  /** The directories that scopes name and that exist; what no working directory may be is no mount either. */
  async #granted(scopes: readonly string[], realOf = realPath): Promise<(Mount & { readonly name: string })[]> {
    const found: (Mount & { name: string })[] = []
    for (const text of scopes) {
      const scope = parseScope(text, { knowsTool: () => true })
      if (scope.kind !== 'area' || scope.family !== 'files' || scope.holder.kind !== 'user' || !scope.path) continue
      const path = await realOf(scope.path)
      if (!path || within(path, this.place.data.path) || kernelPlaces.some((place) => within(path, place))) continue
      found.push({ path, mode: scope.level === 'read' ? 'read' : 'write', name: scope.path })
    }
    return found
  }

  /** A link in the tree of a node that makes another must not lead that one out of what its maker sees. */
  async #requireReach(wanted: readonly Mount[], tree: string | undefined, makers: readonly Maker[]): Promise<void> {
    for (const maker of makers) {
      const { node_id } = maker
      const reach = await this.#reachOf(maker)
      const sees = ({ path, mode }: Mount): boolean =>
        reach.some((one) => (one.mode === 'write' || mode === 'read') && within(path, one.path))
      const ownTree = (path: string): boolean => tree !== undefined && within(path, tree)
      const beyond = wanted.find((mount) => !sees(mount) && !ownTree(mount.path))
      const who = node_id === null ? 'the application' : `the node ${node_id}`
      if (beyond) throw outside(beyond.path, `${who}, which stands behind its making, doesn't see it.`)
    }
  }

  async #reachOf({ cwd, scopes }: Maker): Promise<Mount[]> {
    const granted = await this.#granted(scopes)
    if (cwd === null) return granted
    return [{ path: (await realPath(cwd)) ?? resolve(cwd), mode: 'write' }, ...granted]
  }

  /** Noted by its real path when the tree was made; a node that may write above it could put a link there since. */
  async #recorded(gitDir: string): Promise<string | undefined> {
    const now = await realPath(gitDir)
    if (now !== undefined && now !== gitDir) throw outside(gitDir, `it leads to ${now} by now.`)
    return now && !within(now, this.place.data.path) ? now : undefined
  }

  /** Of a linked worktree that the person made; not for a node that was made by one which doesn't see it. */
  async #commonOf(cwd: string, makers: readonly Maker[]): Promise<string | undefined> {
    const common = await commonOfWorktree(cwd)
    if (!common || within(common, this.place.data.path)) return undefined
    for (const maker of makers) {
      const reach = await this.#reachOf(maker)
      const sees = reach.some(({ path, mode }) => mode === 'write' && within(common, path))
      if (sees) continue
      if (maker.cwd === null || (await commonOfWorktree((reach[0] as Mount).path)) !== common) return undefined
    }
    return common
  }

  /** The node's home stands where the person's does, unless that itself is shown. */
  #homeFor(mounts: readonly Mount[], own: string): string {
    const { home } = this.ground
    const shown = mounts.some(({ path }) => within(home, path))
    return shown || home === '/' || within(home, this.place.data.path) ? own : home
  }

  async #frozen(mounts: readonly Mount[], cwd: string, common: string | undefined): Promise<string[]> {
    const writable = mounts.flatMap(({ path, mode }) => (mode === 'write' ? [path] : []))
    const git = writable.map((path) => (path === common ? frozenInCommon(path, cwd) : frozenIn(path)))
    const { home } = this.ground
    const atLogin = writable.some((path) => within(home, path)) ? present(startedAtLoginOf(home)) : []
    return [...new Set((await Promise.all([...git, atLogin])).flat())]
  }

  async #hidden(mounts: readonly Mount[]): Promise<string[]> {
    const { home, view } = this.ground
    const { data, sandbox } = this.place
    const secrets = await realPaths([data.path, ...sandbox.secretFiles])
    const others = await realPaths([...credentialsOf(home), ...socketsOf])
    const covered = [...secrets, ...others].filter(
      (path) => mounts.some((mount) => within(path, mount.path)) && !mounts.some((mount) => mount.path === path),
    )
    const inSystem = secrets.filter((path) => view.shown.some((place) => within(path, place)))
    return [...new Set([...view.masked, ...covered, ...inSystem])]
  }

  /** A link that a mount shows stands there already. */
  async #system(mounts: readonly Mount[]): Promise<string[]> {
    const { shown } = this.ground.view
    const covered = await Promise.all(
      shown.map(async (path) => mounts.some((mount) => within(path, mount.path)) && (await entryAt(path)) === 'link'),
    )
    return shown.filter((_path, at) => !covered[at])
  }

  /**
   * Names that lead to what is shown by way of links. Those in the node's own directories are made on the disk, the
   * others where nothing else is.
   */
  async #links(
    names: readonly string[],
    mounts: readonly Mount[],
    { home, temporary }: NodeDirectories,
    homeAt: string,
  ): Promise<string[]> {
    const all = (await Promise.all(names.map(linksOnTheWay))).flat()
    const shown = [...mounts.map(({ path }) => path), ...this.ground.view.shown]
    const wanted = all.filter(({ at }) => !shown.some((path) => within(at, path)))
    const free: string[] = []
    for (const { at, to } of wanted) {
      const own = within(at, homeAt) ? [homeAt, home] : within(at, '/tmp') ? ['/tmp', temporary] : undefined
      if (!own) free.push(at)
      else await makeLink(join(own[1] as string, relative(own[0] as string, at)), to)
    }
    return [...new Set(free)]
  }
}

const makeLink = async (path: string, to: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await symlink(to, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

/** Where those that exist really are. */
const realPaths = async (paths: readonly string[]): Promise<string[]> =>
  (await Promise.all(paths.map(realPath))).filter((path) => path !== undefined)

const present = async (paths: readonly string[]): Promise<string[]> => {
  const found = await Promise.all(paths.map(async (path) => ((await entryAt(path)) ? [path] : [])))
  return found.flat()
}

/**
 * The working directory first; each path once, and none for reading that lies in one for writing, unless it is `closed`
 * there: a mount of its own opens it.
 */
const simplest = (cwd: string, others: readonly Mount[], closed: readonly string[]): Mount[] => {
  const all: Mount[] = [{ path: cwd, mode: 'write' }, ...others.map(({ path, mode }) => ({ path, mode }))]
  const writable = all.filter(({ mode }) => mode === 'write')
  const kept = new Map<string, Mount>()
  for (const mount of all) {
    const covered = writable.some(({ path }) => within(mount.path, path))
    if (mount.mode === 'read' && covered && !closed.some((path) => within(mount.path, path))) continue
    if (kept.get(mount.path)?.mode !== 'write') kept.set(mount.path, mount)
  }
  return [...kept.values()]
}
