import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** Where the daemon of this machine keeps what its owner's commands need. */
export interface LocalDaemon {
  readonly dataDir: string
  readonly baseUrl: string
  readonly running: RunningDaemon | undefined
}

/** `run/daemon.json`: there from "ready" to the first signal to stop. */
export interface RunningDaemon {
  readonly pid: number
  readonly started_at: string
  readonly version: string
  readonly base_url: string
  readonly socket: string
}

/** One life of one process: a pid alone is reused. */
export interface ProcessIdentity {
  readonly pid: number
  readonly startTicks: number
  readonly bootId: string
}

export const localDaemon = (env: NodeJS.ProcessEnv): LocalDaemon => {
  const dataDir = resolve(env.SVC_DATA_DIR || join(homedir(), '.local/share/svc'))
  const running = readJson<RunningDaemon>(join(dataDir, 'run/daemon.json'))
  return { dataDir, running, baseUrl: running?.base_url ?? `http://${env.SVC_OWNER_LISTEN || '127.0.0.1:7420'}` }
}

/** The owner's token, or undefined where no daemon was ever started. @throws Error when it may not be read */
export const ownerToken = ({ dataDir }: LocalDaemon): string | undefined =>
  readText(join(dataDir, 'owner.token'))?.trim()

/** Who holds the data directory now, ready or not; undefined when nobody living does. */
export const lockHolder = ({ dataDir }: LocalDaemon): ProcessIdentity | undefined => {
  const holder = readJson<ProcessIdentity>(join(dataDir, 'run/daemon.lock'))
  return holder && isAlive(holder) ? holder : undefined
}

export const isAlive = ({ pid, startTicks, bootId }: ProcessIdentity): boolean => {
  const stat = readText(`/proc/${pid}/stat`)
  if (stat === undefined) return false
  // The program's name in parentheses may hold spaces: fields are counted behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const living = fields[0] !== 'Z' && fields[0] !== 'X'
  return living && Number(fields[19]) === startTicks && readText('/proc/sys/kernel/random/boot_id')?.trim() === bootId
}

/** Undefined when there is no such file. */
export const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** Undefined when there is no such file, or one that is being written just now. */
export const readJson = <T>(path: string): T | undefined => {
  const text = readText(path)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as T
  } catch {
    return undefined
  }
}
