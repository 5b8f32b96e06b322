import { readdirSync, readFileSync } from 'node:fs'

/** A living process, as /proc shows it. Zombies are not alive, so they are not listed. */
export interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly session: number
  /** Clock ticks from boot to its start; with the pid it names one life of one process. */
  readonly startTicks: number
  /** Its program's name, at most 15 characters. */
  readonly name: string
  /** Whether it has begun to die: then nothing is left of its environment. */
  readonly dying: boolean
  /** Its environment at its start, as `\0NAME=value\0…\0`; empty when it can't be read. */
  environment(): string
}

const read = (pid: number | string, file: 'stat' | 'environ'): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    // Gone meanwhile, or another account's: neither can be one of ours.
    return ''
  }
}

/** The process of that pid, when it lives. */
export const processOf = (pid: number): ProcessRow | undefined => {
  const stat = read(pid, 'stat')
  // The name in parentheses may itself hold spaces and parentheses, so fields are counted from the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, parent, , session] = fields
  if (!state || state === 'Z' || state === 'X') return undefined
  let environment: string | undefined
  return {
    pid,
    parent: Number(parent),
    session: Number(session),
    startTicks: Number(fields[19]),
    name: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
    // PF_EXITING of the kernel.
    dying: (Number(fields[6]) & 4) !== 0,
    environment: () => (environment ??= `\0${read(pid, 'environ')}\0`),
  }
}

/** When a process started, in ticks since boot; 0 when it is gone already. */
export const startOf = (pid: number): number => processOf(pid)?.startTicks ?? 0

/** Every living process of this machine (or of this container) but the calling one. */
export const readProcesses = (): ProcessRow[] =>
  readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    const row = Number.isInteger(pid) && pid !== process.pid ? processOf(pid) : undefined
    return row ? [row] : []
  })

/** Signals this life of the process; answers false when it is gone, even if its pid lives on as another. */
export const signalProcess = (row: Pick<ProcessRow, 'pid' | 'startTicks'>, signal: NodeJS.Signals): boolean => {
  if (processOf(row.pid)?.startTicks !== row.startTicks) return false
  try {
    process.kill(row.pid, signal)
    return true
  } catch (error) {
    // Gone, or a program that changed its account: it stays in the table, so nobody takes it for gone.
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}
