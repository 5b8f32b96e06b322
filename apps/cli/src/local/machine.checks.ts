import { accessSync, constants, existsSync, readdirSync, statfsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { localDaemon } from './data-directory.js'
import type { Finding } from './finding.js'
import { bubblewrapCheck } from './sandbox.checks.js'

const leastNode = 22
const gibibyte = 1024 ** 3

/** What can be seen without a daemon. */
export const machineChecks = (env: NodeJS.ProcessEnv): Finding[] => [
  nodeCheck(),
  serverCheck('postgres', 'DATABASE_URL', 'postgresql', env),
  serverCheck('nats-server', 'NATS_URL', 'nats-server', env),
  serverCheck('redis-server', 'REDIS_URL', 'redis-server', env),
  diskCheck(localDaemon(env).dataDir),
  toolCheck('git', 'git', env),
  toolCheck('rg', 'ripgrep', env),
  bubblewrapCheck(findProgram('bwrap', env)),
]

const nodeCheck = (): Finding => {
  const { version } = process
  const enough = Number(process.versions.node.split('.')[0]) >= leastNode
  return enough
    ? { name: 'node', state: 'ok', detail: version }
    : {
        name: 'node',
        state: 'fail',
        detail: version,
        remedy: `use Node ${leastNode} or newer; \`npm ci\` in the directory of svc brings one`,
      }
}

const serverCheck = (program: string, variable: string, debian: string, env: NodeJS.ProcessEnv): Finding => {
  if (env[variable]) return { name: program, state: 'ok', detail: `${variable} names one that you run` }
  const found = findProgram(program, env)
  if (found) return { name: program, state: 'ok', detail: found }
  const remedy = `sudo apt-get install ${debian}, or run a Docker Engine, or point ${variable} at one that you run`
  return findProgram('docker', env)
    ? { name: program, state: 'warn', detail: 'not installed; Docker can run it', remedy }
    : { name: program, state: 'fail', detail: 'not installed', remedy }
}

/** Debian keeps Postgres' programs off the path, one directory a version. */
const findProgram = (name: string, env: NodeJS.ProcessEnv): string | undefined => {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, 'bin')) : []
  const folders = [...(env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/bin', ...versions]
  return folders
    .filter(Boolean)
    .map((folder) => join(folder, name))
    .find(isExecutable)
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const diskCheck = (dataDir: string): Finding => {
  let folder = dataDir
  while (!existsSync(folder)) folder = dirname(folder)
  const { bavail, bsize } = statfsSync(folder)
  const free = (bavail * bsize) / gibibyte
  const detail = `${free.toFixed(1)} GiB free for ${dataDir}`
  const remedy = 'free space there, or set SVC_DATA_DIR to another disk'
  if (free < 0.2) return { name: 'disk', state: 'fail', detail, remedy }
  return free < 1 ? { name: 'disk', state: 'warn', detail, remedy } : { name: 'disk', state: 'ok', detail }
}

const toolCheck = (program: string, debian: string, env: NodeJS.ProcessEnv): Finding => {
  const found = findProgram(program, env)
  return found
    ? { name: debian, state: 'ok', detail: found }
    : {
        name: debian,
        state: 'warn',
        detail: 'not installed: nodes do without',
        remedy: `sudo apt-get install ${debian}`,
      }
}
