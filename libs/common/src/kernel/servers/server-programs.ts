import { execFile } from 'node:child_process'
import { accessSync, constants, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { DataDirectory } from './data-directory.js'
import { canInstall, installPackages } from './package-install.js'
import type { ServerLog } from './server-log.js'

const run = promisify(execFile)

export type ServerName = 'postgres' | 'nats' | 'redis'

export interface Account {
  uid: number
  gid: number
}

export interface ServerCommand {
  command: string
  args: string[]
  env: Record<string, string>
}

/** A server's program, on this machine or in a container. */
export interface ServerProgram {
  origin: 'native' | 'container'
  /** `mounts` are the paths that the program uses; `account` is who it runs as, when not as this process. */
  command(use: { args: string[]; mounts: string[]; account?: Account }): ServerCommand
  /** How the program sees a path of this machine. */
  at(path: string): string
  /** To be called before a start. */
  prepare(server: ServerName): Promise<void>
}

export interface ServerPrograms {
  initdb: ServerProgram
  postgres: ServerProgram
  nats: ServerProgram
  redis: ServerProgram
}

export interface FindPrograms {
  needed: ServerName[]
  data: DataDirectory
  /** The major version of an existing Postgres cluster: another one can't read it. */
  postgresVersion?: string
  mayInstall: boolean
  log: ServerLog
}

const programs: Record<ServerName, (keyof ServerPrograms)[]> = {
  postgres: ['initdb', 'postgres'],
  nats: ['nats'],
  redis: ['redis'],
}
const files: Record<keyof ServerPrograms, string> = {
  initdb: 'initdb',
  postgres: 'postgres',
  nats: 'nats-server',
  redis: 'redis-server',
}
const packages: Record<ServerName, string> = { postgres: 'postgresql', nats: 'nats-server', redis: 'redis-server' }
const images: Record<ServerName, string> = { postgres: 'postgres:16', nats: 'nats:2', redis: 'redis:7' }

/**
 * Finds each needed server: on this machine, else from the system's packages when that is allowed and we are root,
 * else in Docker. Throws an error that names the packages.
 */
export async function findServerPrograms(options: FindPrograms): Promise<Partial<ServerPrograms>> {
  const { needed, data, postgresVersion, mayInstall, log } = options
  let missing = needed.filter((server) => !isPresent(server, postgresVersion))
  if (missing.length > 0 && mayInstall && canInstall()) {
    const names = missing.map((server) => packageOf(server, postgresVersion))
    try {
      await installPackages(names, join(data.log, 'install.log'), log)
    } catch (error) {
      log.warn({ err: error }, 'the missing servers could not be installed')
    }
    missing = missing.filter((server) => !isPresent(server, postgresVersion))
  }
  if (missing.length > 0 && !(await dockerAnswers())) {
    const names = missing.map((server) => packageOf(server, postgresVersion)).join(' ')
    throw new Error(
      `These servers are missing: ${missing.join(', ')}. Install them with \`sudo apt-get install ${names}\`, ` +
        'or start a Docker engine, or name running ones in DATABASE_URL, NATS_URL and REDIS_URL.',
    )
  }
  const found: Partial<ServerPrograms> = {}
  for (const server of needed) {
    for (const program of programs[server]) {
      const path = locate(files[program], postgresVersion)
      found[program] = missing.includes(server) || !path ? container(server, files[program], data) : native(path)
    }
  }
  return found
}

function isPresent(server: ServerName, version?: string): boolean {
  return programs[server].every((program) => locate(files[program], version) !== undefined)
}

function packageOf(server: ServerName, version?: string): string {
  return server === 'postgres' && version ? `postgresql-${version}` : packages[server]
}

/** Debian keeps Postgres' programs out of the PATH, in a directory of each major version. */
function locate(file: string, postgresVersion?: string): string | undefined {
  const isPostgres = file === 'initdb' || file === 'postgres'
  const directories = isPostgres
    ? postgresDirectories(postgresVersion)
    : [...(process.env.PATH ?? '').split(':'), '/usr/local/bin', '/usr/sbin', '/usr/bin']
  return directories.map((directory) => join(directory, file)).find(isExecutable)
}

function postgresDirectories(version?: string): string[] {
  const root = '/usr/lib/postgresql'
  if (version) return [join(root, version, 'bin')]
  let versions: string[]
  try {
    versions = readdirSync(root)
  } catch {
    versions = []
  }
  return versions.sort((a, b) => Number(b) - Number(a)).map((name) => join(root, name, 'bin'))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function native(path: string): ServerProgram {
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC' }
  return {
    origin: 'native',
    at: (path) => path,
    prepare: async () => undefined,
    command: ({ args, account }) =>
      account
        ? {
            command: 'setpriv',
            args: [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups', path, ...args],
            env,
          }
        : { command: path, args, env },
  }
}

/**
 * The client stays in the foreground and hands signals on; a container whose client was killed is removed before the
 * next start. The network is the host's, so that addresses are the same as without a container.
 */
function container(server: ServerName, file: string, data: DataDirectory): ServerProgram {
  const env = Object.fromEntries(
    ['PATH', 'HOME', 'DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG', 'XDG_RUNTIME_DIR'].flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    ),
  )
  const nameOf = (of: ServerName) => `${data.mark}-${of}`
  // Below a root of our own: an image's /root or /home may be closed to the account that the server runs as.
  const at = (path: string) => `/svc${path}`
  return {
    origin: 'container',
    at,
    prepare: async (of) => {
      await run('docker', ['rm', '--force', nameOf(of)])
    },
    command: ({ args, mounts, account }) => {
      const uid = account?.uid ?? process.getuid?.() ?? 0
      const gid = account?.gid ?? process.getgid?.() ?? 0
      const volumes = mounts.flatMap((path) => ['--volume', `${path}:${at(path)}`])
      const options = ['--rm', '--network', 'host', '--user', `${uid}:${gid}`, '--entrypoint', file]
      // initdb looks its account up by number, and the image knows no account of this machine.
      if (!account) volumes.push('--volume', '/etc/passwd:/etc/passwd:ro')
      return {
        command: 'docker',
        args: ['run', ...options, '--name', nameOf(server), ...volumes, images[server], ...args],
        env,
      }
    },
  }
}

async function dockerAnswers(): Promise<boolean> {
  try {
    await run('docker', ['info', '--format', '{{.ServerVersion}}'], { timeout: 10_000 })
    return true
  } catch {
    return false
  }
}
