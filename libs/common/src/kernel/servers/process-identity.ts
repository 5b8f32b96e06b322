import { readdirSync, readFileSync } from 'node:fs'

/** One life of one process. A pid alone is reused; a pid with its boot and its start time is not. */
export interface ProcessIdentity {
  pid: number
  /** Clock ticks from boot to the start of the process: field 22 of /proc/<pid>/stat. */
  startTicks: number
  bootId: string
}

interface ProcessStat {
  state: string
  parent: number
  startTicks: number
}

let bootId: string | undefined

/** The identity of a living process, or undefined when there is none of that pid (a zombie counts as dead). */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid)
  if (!stat || stat.state === 'Z' || stat.state === 'X') return undefined
  return { pid, startTicks: stat.startTicks, bootId: currentBootId() }
}

/** This process. */
export function ownIdentity(): ProcessIdentity {
  const identity = identify(process.pid)
  if (!identity) throw new Error('/proc is not readable: svc needs Linux with /proc mounted')
  return identity
}

export function isAlive(identity: ProcessIdentity): boolean {
  const now = identify(identity.pid)
  return now?.startTicks === identity.startTicks && now.bootId === identity.bootId
}

/** Reads an identity that was stored as JSON; undefined when the text is torn or of another shape. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { pid, startTicks, bootId: boot } = value as Record<string, unknown>
  if (typeof pid !== 'number' || typeof startTicks !== 'number' || typeof boot !== 'string') return undefined
  return { pid, startTicks, bootId: boot }
}

/** Signals the process only while it is still the same one. False when it is gone. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false
  try {
    process.kill(identity.pid, name)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/**
 * Living processes whose environment holds `name=value`, this one left out. Those of other accounts can't be read and
 * are not seen, unless this process is root.
 */
export function findByEnvironment(name: string, value: string): ProcessIdentity[] {
  const entry = `${name}=${value}\0`
  return scan((pid) => `\0${readProc(pid, 'environ')}`.includes(`\0${entry}`))
}

/**
 * Living processes that serve the data directory of this mark. Postgres' workers overwrite their environment with a
 * title, which names the mark too.
 */
export function findMarked(mark: string): ProcessIdentity[] {
  const titled = scan((pid) => readProc(pid, 'cmdline').startsWith(`postgres: ${mark}: `))
  return [...findByEnvironment('SVC_DATA_MARK', mark), ...titled]
}

function scan(matches: (pid: number) => boolean): ProcessIdentity[] {
  const pids = readdirSync('/proc').map(Number)
  return pids.flatMap((pid) => {
    if (!Number.isInteger(pid) || pid === process.pid || !matches(pid)) return []
    const identity = identify(pid)
    return identity ? [identity] : []
  })
}

/** The parent of a living process, or undefined when it is gone. */
export function parentOf(pid: number): number | undefined {
  return readStat(pid)?.parent
}

function readStat(pid: number): ProcessStat | undefined {
  const text = readProc(pid, 'stat')
  // The name in parentheses may itself hold spaces and parentheses, so fields are counted from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parent] = fields
  const startTicks = fields[19]
  if (!state || !parent || !startTicks) return undefined
  return { state, parent: Number(parent), startTicks: Number(startTicks) }
}

/** Empty when the process is gone or belongs to somebody else. */
function readProc(pid: number, file: 'stat' | 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

function currentBootId(): string {
  bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return bootId
}
