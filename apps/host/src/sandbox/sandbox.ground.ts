import { mkdtemp, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#common/kernel/clock.js'
import type { HostPlace } from '../host.place.js'
import { readGitConfig } from './git.identity.js'
import { findInstallation } from './installation.js'
import { NodeAccounts } from './node.accounts.js'
import { NodeDirectoryStore } from './node.directories.js'
import { realPath } from './real.paths.js'
import { findSandboxLevel, type SandboxLevel } from './sandbox.level.js'
import { readSystemView, type SystemView } from './system.view.js'
import { TreeAccess } from './tree.access.js'

/** What the host found out about its machine at its start, for the plans of all nodes. */
export interface SandboxGround {
  readonly level: SandboxLevel
  readonly view: SystemView
  readonly directories: NodeDirectoryStore
  /** For the level `account`. */
  readonly accounts?: NodeAccounts
  readonly installation: readonly string[]
  /** The person's home, by its real path. */
  readonly home: string
  /** Content of a node's `~/.gitconfig`. */
  readonly gitConfig: string
  readonly env: Readonly<Record<string, string>>
}

export const SANDBOX_GROUND = Symbol('sandbox ground')

const kept = ['LANG', 'LANGUAGE', 'LC_ALL', 'TZ', 'TERM'] as const
const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** @throws Error when the sandbox that the owner named doesn't work here. */
export const findSandboxGround = async (place: HostPlace): Promise<SandboxGround> => {
  const installation = findInstallation()
  const access = new TreeAccess(systemClock)
  const [level, view, gitConfig, home] = await Promise.all([
    findSandboxLevel(place.sandbox.mode, () => refusalOfAccounts(place, access)),
    readSystemView(installation, place.sandbox.shown),
    readGitConfig(),
    realPath(homedir()),
  ])
  const path = [installation.bin, ...(process.env.PATH ?? usualPath).split(':'), installation.node]
  return {
    level,
    view,
    installation: installation.shown,
    ...(level.level === 'account' && {
      accounts: new NodeAccounts(join(place.data.path, 'accounts.json'), place.sandbox.accounts, access),
    }),
    gitConfig,
    home: home ?? '/',
    directories: new NodeDirectoryStore(join(place.data.path, 'nodes'), systemClock),
    env: {
      ...Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
      PATH: [...new Set(path.filter((folder) => folder.startsWith('/')))].join(':'),
    },
  }
}

/** Tried where the nodes' own directories are; other places are tried when they are given. */
const refusalOfAccounts = async (place: HostPlace, access: TreeAccess): Promise<string | undefined> => {
  if (process.getuid?.() !== 0) return 'the host does not run as root'
  const trial = await mkdtemp(join(place.data.path, 'trial-'))
  try {
    await access.grant(trial, place.sandbox.accounts.from, 'read')
    return undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? 'setfacl is not installed (the package acl)' : message
  } finally {
    await rm(trial, { recursive: true, force: true })
  }
}
